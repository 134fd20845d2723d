import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  afterSending,
  byRecord,
  nextAction,
  sendingFrom,
  splitOnce,
  stretchOf,
  verdictOf,
  type Sending,
  type SentRange,
} from "../../../src/delivery/rules/sending.ts";

const EMPTY = { acked_seq: 0, ahead: [] };
const NONE = { under_way: 0, bytes: 0 };
const NOW = { sendable_seq: 50_000, mono: 0, window: 4, under_way: 0, chunks: NONE };

/** Returns the state after the backlog got a lane of its own and its context records were sent. */
function split(newest: number, begun: Sending = sendingFrom(EMPTY)): Sending {
  const level = splitOnce({ ...begun, ahead: { kind: "no" } }, newest);
  return { ...level, lanes: { ...level.lanes, context: null } };
}

const range = (from: number, to: number): SentRange => ({
  from,
  to,
  records: to - from + 1,
  is_chunk: true,
  sendable_seq: to,
});

describe("the sending of a backlog (old unsent records)", () => {
  it("uses chunks (compressed blocks) if the service accepts them and is known to have no newer records", () => {
    expect(nextAction(split(50_000), NOW)).toEqual({ kind: "chunk", from: 1, end: 50_000 });
    expect(nextAction(split(50_000), { ...NOW, chunks: null })).toEqual({ kind: "send", lane: "backlog", limit: null });
    for (const ahead of [{ kind: "unknown" }, { kind: "yes" }, { kind: "probe", seq: 9 }] as const)
      expect(nextAction({ ...sendingFrom(EMPTY), ahead }, NOW).kind).not.toBe("chunk");
  });

  it("limits chunks separately from batches, so that new records are still sent in batches", () => {
    const later = { ...NOW, sendable_seq: 50_010 };
    const begun = split(50_000);
    expect(nextAction(begun, later)).toEqual({ kind: "send", lane: "live", limit: null });
    const sent = afterSending(begun, "live", { to: 50_010, records: 10, mono: 0, rate: null });
    expect(nextAction(sent, { ...later, under_way: 4 }).kind).toBe("chunk");
    expect(nextAction(sent, { ...later, under_way: 4, chunks: { under_way: 16, bytes: 1 } }).kind).toBe("acks");
    const news = { ...later, sendable_seq: 50_011, chunks: { under_way: 16, bytes: 1 } };
    expect(nextAction(sent, news)).toEqual({ kind: "send", lane: "live", limit: null });
  });

  it.each([
    [4, { under_way: 15, bytes: 65_535 }, "chunk"],
    [4, { under_way: 16, bytes: 16 }, "acks"],
    [4, { under_way: 1, bytes: 65_536 }, "acks"],
    [1, { under_way: 3, bytes: 16_383 }, "chunk"],
    [1, { under_way: 4, bytes: 4 }, "acks"],
    [1, { under_way: 1, bytes: 16_384 }, "acks"],
  ])("with the send window %i and the chunks %o in flight continues with the action %s", (window, chunks, kind) => {
    expect(nextAction(split(50_000), { ...NOW, window, chunks }).kind).toBe(kind);
  });

  it("uses chunks, except for a range for which an earlier session got no ack", () => {
    const silence = { from: 4_001, to: 8_000, limit: 2_000 };
    const silent = { ...split(50_000), silence };
    expect(nextAction(silent, NOW)).toEqual({ kind: "chunk", from: 1, end: 4_000 });
    const at = (seq: number) => afterSending(silent, "backlog", { to: seq, records: seq, mono: 0, rate: null });
    expect(nextAction(at(4_000), NOW)).toEqual({ kind: "send", lane: "backlog", limit: 2_000 });
    expect(nextAction(at(7_999), NOW)).toEqual({ kind: "send", lane: "backlog", limit: 2_000 });
    expect(nextAction(at(8_000), NOW)).toEqual({ kind: "chunk", from: 8_001, end: 50_000 });
  });

  it("uses chunks before and after a range that is already acked", () => {
    const acked = { acked_seq: 0, ahead: [[3_001, 5_000] as const] };
    const begun = split(50_000, sendingFrom(acked));
    expect(nextAction(begun, NOW)).toEqual({ kind: "chunk", from: 1, end: 3_000 });
    const at = (seq: number) => afterSending(begun, "backlog", { to: seq, records: seq, mono: 0, rate: null });
    expect(nextAction(at(3_000), NOW)).toEqual({ kind: "send", lane: "backlog", limit: null });
    expect(nextAction(at(5_000), NOW)).toEqual({ kind: "chunk", from: 5_001, end: 50_000 });
  });

  it("uses batches for records that no chunk contains, and chunks after these records", () => {
    const loose = byRecord(split(50_000), { from: 1, to: 4_000 });
    expect(nextAction(loose, NOW)).toEqual({ kind: "send", lane: "backlog", limit: null });
    expect(stretchOf(loose.lanes, "backlog", 50_000)).toEqual({ seq: 0, end: 4_000 });
    const done = afterSending(loose, "backlog", { to: 4_000, records: 4_000, mono: 0, rate: null });
    expect(nextAction(done, NOW)).toEqual({ kind: "chunk", from: 4_001, end: 50_000 });
  });

  it("does not exceed the configured rate, even with chunks", () => {
    const sent = afterSending(split(50_000), "backlog", { to: 4_000, records: 4_000, mono: 1_000, rate: 1_000 });
    expect(nextAction(sent, { ...NOW, mono: 4_999 })).toEqual({ kind: "news", ms: 1 });
    expect(nextAction(sent, { ...NOW, mono: 5_000 }).kind).toBe("chunk");
  });
});

describe("a sent chunk (compressed block of records)", () => {
  const begun = split(50_000);

  it.each([
    { kind: "refused", reason: "malformed: n" },
    { kind: "conflict", rejected: [], is_proven: false, held_seq: 0, seq: 7 },
  ] as const)("is sent again in batches after the outcome $kind, without a new stream name", (outcome) => {
    const sent = afterSending(begun, "backlog", { to: 4_000, records: 4_000, mono: 0, rate: null });
    const { sending, verdict } = verdictOf(sent, range(1, 4_000), outcome);
    expect(verdict).toEqual({ kind: "by_record" });
    expect(stretchOf(sending.lanes, "backlog", 50_000)).toEqual({ seq: 0, end: 4_000 });
    expect(nextAction(sending, NOW)).toEqual({ kind: "send", lane: "backlog", limit: null });
  });

  it("advances the cursor when it is acked, but not beyond an earlier chunk that is not acked", () => {
    const acked = (to: number) => ({ kind: "acked", rejected: [], is_proven: true, held_seq: to }) as const;
    const later = verdictOf(begun, range(4_001, 8_000), acked(8_000));
    expect(later.sending.cursor.acked_seq).toBe(0);
    expect(verdictOf(later.sending, range(1, 4_000), acked(8_000)).sending.cursor.acked_seq).toBe(8_000);
  });

  it("ends the session if it gets no ack, and its records are sent in batches in the next session", () => {
    const keep = { kind: "keep", reason: "no ack in time", is_silent: true } as const;
    const { sending, verdict } = verdictOf(begun, range(1, 4_000), keep);
    expect(verdict.kind).toBe("end");
    const { silence } = sending;
    const next = split(50_000, sendingFrom(EMPTY, { silence }));
    expect(nextAction(next, NOW)).toEqual({ kind: "send", lane: "backlog", limit: 2_000 });
  });
});

it("batches and chunks together send every record exactly once, whatever chunks exist and whatever formats the service accepts", () => {
  const story = fc.record({
    newest: fc.integer({ min: 2_000, max: 30_000 }),
    rows: fc.array(fc.integer({ min: 200, max: 6_000 }), { minLength: 3, maxLength: 20 }),
    isChunk: fc.array(fc.boolean(), { minLength: 3, maxLength: 20 }),
    isTaken: fc.array(fc.boolean(), { minLength: 3, maxLength: 20 }),
  });
  fc.assert(
    fc.property(story, ({ newest, rows, isChunk, isTaken }) => {
      const times = new Uint8Array(newest + 1);
      let sending = split(newest);
      const under_way: { readonly from: number; readonly to: number; readonly chunk: boolean }[] = [];
      let turn = 0;
      let asked = 0;
      const put = (from: number, to: number, chunk: boolean): void => {
        sending = afterSending(sending, "backlog", { to, records: to - from + 1, mono: 0, rate: null });
        under_way.push({ from, to, chunk });
      };
      const settle = (): void => {
        const { from, to, chunk } = under_way.shift() ?? { from: 1, to: 0, chunk: false };
        const isRefused = chunk && isTaken[asked % isTaken.length] === false;
        if (chunk) asked += 1;
        const answer = isRefused
          ? ({ kind: "refused", reason: "no" } as const)
          : ({ kind: "acked", rejected: [], is_proven: true, held_seq: to } as const);
        sending = verdictOf(sending, { ...range(from, to), is_chunk: chunk }, answer).sending;
        for (let seq = from; !isRefused && seq <= to; seq += 1) times[seq] = (times[seq] ?? 0) + 1;
      };
      for (; turn < 5_000; turn += 1) {
        const chunks = under_way.filter(({ chunk }) => chunk);
        const now = { under_way: chunks.length, bytes: 4_500 * chunks.length };
        const action = nextAction(sending, {
          sendable_seq: newest,
          mono: 0,
          window: 4,
          chunks: now,
          under_way: under_way.length - chunks.length,
        });
        if (action.kind === "acks") settle();
        else if (action.kind === "chunk") {
          const to = Math.min(action.end, action.from + (rows[turn % rows.length] ?? 1) - 1);
          if (isChunk[turn % isChunk.length] === true) put(action.from, to, true);
          else sending = byRecord(sending, { from: action.from, to });
        } else if (action.kind === "send") {
          const { seq, end } = stretchOf(sending.lanes, action.lane, newest) ?? { seq: 0, end: 0 };
          put(seq + 1, Math.min(end, seq + 2_400), false);
        } else if (under_way.length > 0) settle();
        else break;
      }
      expect(turn).toBeLessThan(5_000);
      expect(sending.cursor).toEqual({ acked_seq: newest, ahead: [] });
      expect(times.subarray(1).every((count) => count === 1)).toBe(true);
    }),
  );
});
