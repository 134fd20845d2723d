import { describe, expect, it } from "vitest";
import {
  afterProbe,
  afterReOffer,
  aheadOf,
  nextAction,
  openStretch,
  sendingFrom,
  splitOnce,
  taken,
  verdictOf,
  type Sending,
} from "../../../src/delivery/rules/sending.ts";

const NOW = { sendable_seq: 20, mono: 0, window: 4, under_way: 0, chunks: null };
const range = (from: number, to: number) => ({
  from,
  to,
  records: to - from + 1,
  is_chunk: false,
  sendable_seq: 20,
  refusals: 0,
  vouched: null,
  offered_seq: 10,
});
const acked = (held_seq: number) => ({ kind: "acked", rejected: [], is_proven: true, held_seq }) as const;
const conflict = (seq: number, is_proven: boolean) =>
  ({ kind: "conflict", rejected: [], is_proven, seq, held_seq: 0 }) as const;

describe("what goes next", () => {
  it("one batch at a time until the service is seen to hold no more than was sent, then the window", () => {
    const begun = sendingFrom(0);
    expect(nextAction(begun, NOW)).toEqual({ kind: "send", lane: "live", limit: null });
    expect(nextAction(begun, { ...NOW, under_way: 1 })).toEqual({ kind: "acks" });
    const ahead = verdictOf(begun, range(1, 5), acked(21)).sending;
    expect(nextAction(ahead, { ...NOW, under_way: 1 })).toEqual({ kind: "acks" });
    const level = verdictOf(begun, range(1, 5), acked(5)).sending;
    expect(nextAction(level, { ...NOW, under_way: 3 })).toEqual({ kind: "send", lane: "live", limit: null });
    expect(nextAction(level, { ...NOW, under_way: 4 })).toEqual({ kind: "acks" });
  });

  it("waits for news where nothing waits, and no longer than the backlog's rate says where something does", () => {
    expect(nextAction(sendingFrom(20), NOW)).toEqual({ kind: "news", ms: null });
    const level: Sending = { ...sendingFrom(0), ahead: { kind: "no" } };
    const split = splitOnce(level, 5_000);
    expect(split.lanes.backlog).toEqual({ seq: 0, end: 5_000 });
    const slow: Sending = { ...split, lanes: { ...split.lanes, context: null, backlog_at: 700 } };
    expect(nextAction(slow, { ...NOW, sendable_seq: 5_000, mono: 200 })).toEqual({ kind: "news", ms: 500 });
  });

  it("what waits is told from what is new once, and not before the service is seen to be level", () => {
    expect(splitOnce(sendingFrom(0), 5_000).lanes.backlog).toBe(null);
    const level = splitOnce({ ...sendingFrom(4_000), ahead: { kind: "no" } }, 5_000);
    expect(splitOnce(level, 50_000).lanes.backlog).toBe(null);
  });
});

describe("whether the service may hold what this store doesn't know of", () => {
  const probing = verdictOf(sendingFrom(0), range(1, 5), acked(12)).sending;

  it("its newest record is offered once more, alone, where this store has one of that seq", () => {
    expect(nextAction(probing, NOW)).toEqual({ kind: "probe", seq: 12 });
    expect(nextAction(probing, { ...NOW, under_way: 1 })).toEqual({ kind: "acks" });
  });

  it.each([
    ["acked", "no"],
    ["conflict", "yes"],
    ["refused", "yes"],
    ["missing", "yes"],
  ] as const)("a probe that is %s: %s", (outcome, kind) => {
    expect(afterProbe(probing, outcome).ahead.kind).toBe(kind);
  });

  it("once it is, everything goes in order and one at a time until what it holds is behind", () => {
    const ahead = afterProbe(probing, "conflict");
    expect(nextAction(ahead, NOW)).toEqual({ kind: "send", lane: "live", limit: null });
    expect(nextAction(ahead, { ...NOW, under_way: 1 })).toEqual({ kind: "acks" });
    expect(splitOnce(ahead, 9_000).lanes.backlog).toBe(null);
    const still = verdictOf(ahead, range(6, 10), acked(12)).sending;
    expect(still.ahead.kind).toBe("yes");
    expect(verdictOf(still, range(11, 15), acked(15)).sending.ahead.kind).toBe("no");
  });
});

describe("what an outcome means", () => {
  const begun = sendingFrom(10);

  it("an ack out of turn moves the cursor only with those before it", () => {
    const later = verdictOf(begun, range(16, 20), acked(20));
    expect(later.verdict).toEqual({ kind: "acked", up_to: 10 });
    expect(verdictOf(later.sending, range(11, 15), acked(20)).verdict).toEqual({ kind: "acked", up_to: 20 });
  });

  it("a refused batch is halved, a record refused twice set aside, and neither moves the cursor by itself", () => {
    const refused = { kind: "refused", reason: "malformed" } as const;
    expect(verdictOf(begun, range(11, 15), refused)).toEqual({ sending: begun, verdict: { kind: "halve" } });
    expect(verdictOf(begun, range(11, 11), refused).verdict).toEqual({ kind: "again" });
    const one = verdictOf(begun, { ...range(11, 11), refusals: 1 }, refused);
    expect(one).toEqual({ sending: begun, verdict: { kind: "set_aside", reason: "malformed" } });
    const done = taken(begun, range(11, 11));
    expect(done.verdict.up_to).toBe(11);
    // What the service holds is no better known than before.
    expect(done.sending.ahead).toEqual({ kind: "unknown" });
  });

  it("a batch that is too long is halved, and a record that is too long alone waits, however often it is offered", () => {
    const too_long = { kind: "too_long", reason: "900 of 300 bytes" } as const;
    expect(verdictOf(begun, range(11, 15), too_long)).toEqual({ sending: begun, verdict: { kind: "halve" } });
    const waits = { sending: begun, verdict: { kind: "waits", reason: "900 of 300 bytes" } };
    expect(verdictOf(begun, { ...range(11, 11), refusals: 9 }, too_long)).toEqual(waits);
    const chunk = verdictOf(begun, { ...range(11, 15), is_chunk: true }, too_long);
    expect(chunk.verdict).toEqual({ kind: "by_record" });
  });

  it("ranges that are acked behind a waiting record are merged, and skipped by later sends", () => {
    const first = verdictOf(begun, range(12, 14), acked(14)).sending;
    const second = verdictOf(first, range(15, 18), acked(18)).sending;
    expect(second.cursor).toEqual({ acked_seq: 10, ahead: [[12, 18]] });
    expect(openStretch(second, 10, 20)).toEqual({ acked_to: null, end: 11 });
    expect(openStretch(second, 11, 20)).toEqual({ acked_to: 18, end: 20 });
    expect(openStretch(second, 18, 20)).toEqual({ acked_to: null, end: 20 });
    expect(aheadOf(second.cursor, 10)).toEqual([[12, 18]]);
    expect(aheadOf(second.cursor, 9)).toEqual([]);
  });

  it.each([
    ["whose hash proves it", range(11, 15), conflict(13, true), "fork"],
    ["that nothing proves", range(11, 15), conflict(11, false), "vouch"],
    ["of the service that showed the record before", { ...range(11, 15), vouched: 11 }, conflict(11, false), "fork"],
    ["of the service that showed another record", { ...range(11, 15), vouched: 12 }, conflict(11, false), "vouch"],
    ["at a record that it may have from us", { ...range(11, 15), offered_seq: 13 }, conflict(13, true), "doubt"],
    ["right behind those that it may have from us", { ...range(11, 15), offered_seq: 12 }, conflict(13, true), "fork"],
    [
      "at one that it may have from us, though it showed the record before",
      { ...range(11, 15), vouched: 11, offered_seq: 11 },
      conflict(11, false),
      "doubt",
    ],
    ["behind what isn't acked yet", range(12, 15), conflict(13, true), "end"],
  ] as const)("a conflict %s", (...[, of, outcome, kind]) => {
    expect(verdictOf(begun, of, outcome).verdict.kind).toBe(kind);
  });

  it("a conflict before what the service has already is no fork: that would go there under two names", () => {
    const later = verdictOf(begun, range(16, 20), acked(20)).sending;
    expect(verdictOf(later, range(11, 15), conflict(13, true)).verdict.kind).toBe("end");
  });

  it("a record that was refused is none to ask for again", () => {
    const rejected = { ...acked(15), rejected: [{ seq: 15, reason: "no" }] };
    expect(verdictOf(begun, range(11, 15), rejected).sending.answered_seq).toBe(10);
    expect(verdictOf(begun, range(11, 15), acked(15)).sending.answered_seq).toBe(15);
  });

  it("what isn't known to have arrived ends the session", () => {
    const { verdict } = verdictOf(begun, range(11, 15), { kind: "keep", reason: "no ack in time" });
    expect(verdict).toEqual({ kind: "end", reason: "no ack in time" });
  });

  it("of several that go unanswered in one session the first alone is blamed", () => {
    const keep = { kind: "keep", reason: "no ack in time" } as const;
    const once = verdictOf(begun, range(11, 15), keep).sending;
    expect(once.silence).toMatchObject({ from: 11, to: 15 });
    expect(verdictOf(once, range(16, 20), keep)).toEqual({
      sending: once,
      verdict: { kind: "end", reason: "no ack in time" },
    });
  });
});

describe("a record that the service holds, offered once more", () => {
  const silence = { from: 11, to: 15, limit: 1, alone: 2, re_offer_seq: 9 };
  const silent: Sending = { ...sendingFrom(10), silence };

  it("answered, it proves that the service answers; missing here, it proves nothing", () => {
    expect(afterReOffer(silent, "acked").re_offered).toBe("answered");
    expect(afterReOffer(silent, "conflict").re_offered).toBe("answered");
    expect(afterReOffer(silent, "missing").re_offered).toBe("missing");
  });

  it("unanswered itself, the one before it is asked next time, and nothing changes where none was silent", () => {
    expect(afterReOffer(silent, "keep").silence).toEqual({ ...silence, re_offer_seq: 8 });
    expect(afterReOffer(sendingFrom(10), "keep")).toEqual(sendingFrom(10));
  });
});
