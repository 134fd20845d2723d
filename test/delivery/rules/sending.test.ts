import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  afterProbe,
  afterSending,
  type LaneName,
  type Lanes,
  nextAction,
  nextLane,
  openStretch,
  type Sending,
  sendingFrom,
  type Silence,
  splitOnce,
  stretchOf,
  verdictOf,
  withAcked,
} from "../../../src/delivery/rules/sending.ts";

const withSent = (
  lanes: Lanes,
  ...sent: Parameters<typeof afterSending> extends [unknown, ...infer Rest] ? Rest : never
) => afterSending({ ...sendingFrom({ acked_seq: 0, ahead: [] }), lanes }, ...sent).lanes;
const NOW = { sendable_seq: 20, mono: 0, window: 4, under_way: 0, chunks: null };
const at = (acked_seq: number) => ({ acked_seq, ahead: [] });
const range = (from: number, to: number) => ({
  from,
  to,
  records: to - from + 1,
  is_chunk: false,
  sendable_seq: 20,
});
const acked = (held_seq: number, rejected: readonly number[] = []) =>
  ({
    kind: "acked",
    rejected: rejected.map((seq) => ({ seq, reason: "no" })),
    is_proven: true,
    held_seq,
  }) as const;
const conflict = (seq: number, held_seq = 0) =>
  ({ kind: "conflict", rejected: [], is_proven: false, seq, held_seq }) as const;

describe("the ack cursor of a log", () => {
  it("reaches the last record once all records are acked, in any order and with repeated acks", () => {
    const lengths = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 30 });
    const stories = lengths.chain((sizes) => {
      const ranges = sizes.map((size, index) => {
        const from = sizes.slice(0, index).reduce((sum, one) => sum + one, 1);
        return [from, from + size - 1] as const;
      });
      const twice = fc.shuffledSubarray([...ranges, ...ranges], { minLength: ranges.length * 2 });
      return fc.record({ ranges: fc.constant(ranges), order: twice });
    });
    fc.assert(
      fc.property(stories, ({ ranges, order }) => {
        let cursor = sendingFrom(at(0)).cursor;
        for (const one of order) {
          const next = withAcked(cursor, one);
          expect(next.acked_seq).toBeGreaterThanOrEqual(cursor.acked_seq);
          cursor = next;
        }
        expect(cursor).toEqual(at(ranges.at(-1)?.[1] ?? 0));
      }),
    );
  });

  it("stops before the first record that is not acked", () => {
    const cursor = withAcked(at(10), [16, 20], [11, 14]);
    expect(cursor).toEqual({ acked_seq: 14, ahead: [[16, 20]] });
    expect(withAcked(cursor, [15, 15])).toEqual(at(20));
  });

  it("joins adjacent acked ranges that follow an unacked record, and the sending lanes skip these ranges", () => {
    const sending = verdictOf(
      verdictOf(sendingFrom(at(10)), range(12, 14), acked(14)).sending,
      range(15, 18),
      acked(18),
    );
    expect(sending.sending.cursor).toEqual({ acked_seq: 10, ahead: [[12, 18]] });
    expect(openStretch(sending.sending, 10, 20)).toEqual({ acked_to: null, end: 11 });
    expect(openStretch(sending.sending, 11, 20)).toEqual({ acked_to: 18, end: 20 });
    expect(openStretch(sending.sending, 18, 20)).toEqual({ acked_to: null, end: 20 });
  });
});

describe("the sending lanes of a log (live, backlog and context)", () => {
  const FREE = { records: 100, mono: 0, rate: null };
  const split = (seq: number, sendable_seq: number): Lanes =>
    splitOnce({ ...sendingFrom(at(seq)), ahead: { kind: "no" } }, sendable_seq).lanes;
  const afterContext = (lanes: Lanes): Lanes => withSent(lanes, "context", { ...FREE, to: lanes.context?.end ?? 0 });

  /** Sends batches of 100 until nothing is left. Before each turn, `grow` returns the number of new records. */
  function run(start: Lanes, sendable: number, grow: (turn: number) => number) {
    const sent: { lane: LaneName; from: number; to: number }[] = [];
    let lanes = start;
    let sendable_seq = sendable;
    for (let turn = 0; turn < 10_000; turn += 1) {
      sendable_seq += grow(turn);
      const lane = nextLane(lanes, { sendable_seq, mono: 0 });
      if (lane === null) return sent;
      const { seq: after, end } = stretchOf(lanes, lane, sendable_seq) ?? { seq: 0, end: 0 };
      const to = Math.min(after + 100, end);
      sent.push({ lane, from: after + 1, to });
      lanes = withSent(lanes, lane, { ...FREE, to });
    }
    throw new Error("never done");
  }

  it.each([
    [1_999, null],
    [2_000, { seq: 10, end: 2_010 }],
    [2_001, { seq: 10, end: 2_011 }],
  ])("split %i unsent records so that the backlog is %o", (waiting, backlog) => {
    expect(split(10, 10 + waiting).backlog).toEqual(backlog);
  });

  it("send the context records of a backlog first, and then three backlog batches for each live batch", () => {
    const context = run(split(0, 5_000), 5_030, () => 0).map(({ lane }) => lane[0]);
    expect(context.join("")).toBe(`${"c".repeat(50)}l${"b".repeat(50)}`);
    const order = run(afterContext(split(0, 5_000)), 5_000, (turn) => (turn < 20 ? 30 : 0)).map(({ lane }) => lane[0]);
    expect(order.slice(0, 12).join("")).toBe("lbbblbbblbbb");
    expect(order.slice(-20).join("")).toBe("b".repeat(20));
  });

  it("send every record exactly once, each lane in sequence order", () => {
    const stories = fc.record({
      sendable: fc.integer({ min: 0, max: 9_000 }),
      grows: fc.array(fc.integer({ min: 0, max: 250 }), { maxLength: 60 }),
    });
    fc.assert(
      fc.property(stories, ({ sendable, grows }) => {
        const sent = run(afterContext(split(0, sendable)), sendable, (turn) => grows[turn] ?? 0);
        for (const lane of ["live", "backlog"] as const) {
          const own = sent.filter((one) => one.lane === lane);
          for (const [index, one] of own.entries())
            expect(one.from).toBe(index === 0 ? one.from : (own[index - 1]?.to ?? 0) + 1);
        }
        const all = sent.flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, index) => from + index));
        const total = sendable + grows.slice(0, sent.length + 1).reduce((sum, one) => sum + one, 0);
        expect(all.sort((a, b) => a - b)).toEqual(Array.from({ length: total }, (_, index) => index + 1));
      }),
    );
  });

  it("limit the rate of the backlog without a delay for new records", () => {
    const sent = { to: 100, records: 100, mono: 1_000, rate: 50 };
    const lanes = withSent(afterContext(split(0, 5_000)), "backlog", sent);
    expect(nextLane(lanes, { sendable_seq: 5_000, mono: 2_999 })).toBe(null);
    expect(nextLane(lanes, { sendable_seq: 5_000, mono: 3_000 })).toBe("backlog");
    expect(nextLane(lanes, { sendable_seq: 5_001, mono: 1_001 })).toBe("live");
  });

  it("skip rejected records until their next attempt is due", () => {
    const sending = sendingFrom({ acked_seq: 10, ahead: [[13, 15]] }, { waiting: [11, 12, 17] });
    expect(sending.cursor.acked_seq).toBe(10);
    expect(openStretch(sending, 10, 20).acked_to).toBe(15);
    expect(openStretch(sending, 15, 20)).toEqual({ acked_to: null, end: 16 });
    expect(openStretch(sending, 16, 20).acked_to).toBe(17);
  });
});

describe("the sender", () => {
  const live = { kind: "send", lane: "live", limit: null };

  it("sends one batch at a time until the service is known to have no newer records, then fills the window", () => {
    const begun = sendingFrom(at(0));
    expect(nextAction(begun, NOW)).toEqual(live);
    expect(nextAction(begun, { ...NOW, under_way: 1 })).toEqual({ kind: "acks" });
    const ahead = verdictOf(begun, range(1, 5), acked(21)).sending;
    expect(nextAction(ahead, { ...NOW, under_way: 1 })).toEqual({ kind: "acks" });
    const level = verdictOf(begun, range(1, 5), acked(5)).sending;
    expect(nextAction(level, { ...NOW, under_way: 3 })).toEqual(live);
    expect(nextAction(level, { ...NOW, under_way: 4 })).toEqual({ kind: "acks" });
  });

  it("waits for new records once all records are sent, or until the backlog's rate permits the next batch", () => {
    expect(nextAction(sendingFrom(at(20)), NOW)).toEqual({ kind: "news", ms: null });
    const split = splitOnce({ ...sendingFrom(at(0)), ahead: { kind: "no" } }, 5_000);
    const slow: Sending = { ...split, lanes: { ...split.lanes, context: null, backlog_at: 700 } };
    expect(nextAction(slow, { ...NOW, sendable_seq: 5_000, mono: 200 })).toEqual({ kind: "news", ms: 500 });
  });

  it("creates the backlog's lane only once, and only if the service is known to have no newer records", () => {
    expect(splitOnce(sendingFrom(at(0)), 5_000).lanes.backlog).toBe(null);
    const level = splitOnce({ ...sendingFrom(at(4_000)), ahead: { kind: "no" } }, 5_000);
    expect(splitOnce(level, 50_000).lanes.backlog).toBe(null);
  });

  it("resends only the service's newest record if the store has a record with that number", () => {
    const probing = verdictOf(sendingFrom(at(0)), range(1, 5), acked(12)).sending;
    expect(nextAction(probing, NOW)).toEqual({ kind: "probe", seq: 12 });
    expect(nextAction(probing, { ...NOW, under_way: 1 })).toEqual({ kind: "acks" });
    const kinds = (["acked", "conflict", "refused", "missing"] as const).map((outcome) => afterProbe(probing, outcome));
    expect(kinds.map(({ ahead }) => ahead.kind)).toEqual(["no", "yes", "yes", "yes"]);
    const ahead = afterProbe(probing, "conflict");
    expect(nextAction(ahead, { ...NOW, under_way: 1 })).toEqual({ kind: "acks" });
    expect(splitOnce(ahead, 9_000).lanes.backlog).toBe(null);
    const still = verdictOf(ahead, range(6, 10), acked(12)).sending;
    expect(still.ahead.kind).toBe("yes");
    expect(verdictOf(still, range(11, 15), acked(15)).sending.ahead.kind).toBe("no");
  });
});

describe("the outcome of a batch", () => {
  const begun = sendingFrom(at(10));

  it("advances the cursor, but not beyond an earlier batch that is not acked", () => {
    const later = verdictOf(begun, range(16, 20), acked(20)).sending;
    expect(later.cursor.acked_seq).toBe(10);
    expect(verdictOf(later, range(11, 15), acked(20)).sending.cursor.acked_seq).toBe(20);
  });

  it("leaves the cursor before the first rejected record, while the sending lanes continue after the batch", () => {
    const { sending, verdict } = verdictOf(begun, range(11, 20), acked(20, [17, 13]));
    expect(sending.cursor).toEqual({
      acked_seq: 12,
      ahead: [
        [14, 16],
        [18, 20],
      ],
    });
    expect(sending.passed).toEqual(at(20));
    const refused = [17, 13].map((seq) => ({ seq, reason: "no", cause: "named" }));
    expect(verdict).toEqual({ kind: "acked", refused });
  });

  it.each([
    ["refused", "whole"],
    ["too_long", "too_long"],
  ] as const)(
    "with the kind %s halves the batch, or makes a single record wait without moving the cursor",
    (kind, cause) => {
      const outcome = { kind, reason: "900 of 300 bytes" };
      expect(verdictOf(begun, range(11, 15), outcome)).toEqual({ sending: begun, verdict: { kind: "halve" } });
      const { sending, verdict } = verdictOf(begun, range(11, 11), outcome);
      expect(verdict).toEqual({ kind: "refused", refused: { seq: 11, reason: "900 of 300 bytes", cause } });
      expect([sending.cursor.acked_seq, sending.passed.acked_seq]).toEqual([10, 11]);
      expect(verdictOf(begun, { ...range(11, 15), is_chunk: true }, outcome).verdict).toEqual({ kind: "by_record" });
    },
  );

  it("with the kind conflict advances the cursor to just before the conflicting record", () => {
    const { sending, verdict } = verdictOf(begun, range(11, 15), conflict(13, 40));
    expect(verdict).toEqual({ kind: "conflict", seq: 13, held_seq: 40, refused: [] });
    expect(sending.cursor.acked_seq).toBe(12);
    expect(verdictOf(begun, range(11, 15), conflict(11)).sending.cursor.acked_seq).toBe(10);
  });

  it("with the kind conflict counts as a rejection if later records are acked, because a new stream name would store them twice", () => {
    const later = verdictOf(begun, range(16, 20), acked(20)).sending;
    const { sending, verdict } = verdictOf(later, range(11, 15), conflict(13));
    expect(verdict).toMatchObject({ kind: "refused", refused: { seq: 13 } });
    expect(sending.cursor).toEqual({ acked_seq: 12, ahead: [[16, 20]] });
    expect(sending.lanes.by_record).toEqual([{ seq: 13, end: 15 }]);
  });

  it("with the kind keep (no ack) ends the session, and only the first such batch counts as the cause", () => {
    const keep = { kind: "keep", reason: "no ack in time" } as const;
    const end = { kind: "end", reason: "no ack in time", refused: null };
    const once = verdictOf(begun, range(11, 15), keep);
    expect(once.verdict).toEqual(end);
    expect(once.sending.silence).toEqual({ from: 11, to: 15, limit: 3 });
    expect(verdictOf(once.sending, range(16, 20), keep)).toEqual({ sending: once.sending, verdict: end });
  });
});

describe("records that the service does not answer", () => {
  type Answer = "acked" | "silent" | "lost";

  interface Life {
    readonly acked: Set<number>;
    readonly waiting: Set<number>;
    silence: Silence | null;
  }

  const BATCH = 40;
  /** More sessions than any of these cases needs. */
  const MOST_SESSIONS = 2_000;

  /**
   * Runs a session with one batch at a time. It ends at the first batch without an outcome, or at the end of the log.
   */
  function oneSession(life: Life, newest: number, answer: (from: number, to: number) => Answer): void {
    const cursor = withAcked(at(0), ...[...life.acked].map((seq) => [seq, seq] as const));
    let sending = sendingFrom(cursor, { silence: life.silence, waiting: [...life.waiting] });
    for (;;) {
      const turn = nextAction(sending, { sendable_seq: newest, mono: 0, window: 1, under_way: 0, chunks: null });
      if (turn.kind !== "send") return;
      const { seq } = stretchOf(sending.lanes, "live", newest) ?? { seq: 0 };
      const { acked_to, end } = openStretch(sending, seq, newest);
      const to = acked_to ?? Math.min(end, seq + (turn.limit ?? BATCH));
      sending = afterSending(sending, "live", { to, records: to - seq, mono: 0, rate: null });
      if (acked_to !== null) continue;
      const heard = answer(seq + 1, to);
      const kept = { kind: "keep", reason: "no ack in time", is_silent: heard === "silent" } as const;
      const next = verdictOf(
        sending,
        { ...range(seq + 1, to), sendable_seq: newest },
        heard === "acked" ? acked(to) : kept,
      );
      ({ sending } = next);
      life.silence = sending.silence;
      if (next.verdict.kind === "acked") for (let one = seq + 1; one <= to; one += 1) life.acked.add(one);
      else {
        if (next.verdict.kind === "end" && next.verdict.refused !== null) life.waiting.add(next.verdict.refused.seq);
        return;
      }
    }
  }

  function deliver(newest: number, answer: (from: number, to: number) => Answer) {
    const life: Life = { acked: new Set(), waiting: new Set(), silence: null };
    let sessions = 0;
    while (life.acked.size + life.waiting.size < newest && sessions < MOST_SESSIONS) {
      oneSession(life, newest, answer);
      sessions += 1;
    }
    return { waiting: [...life.waiting], acked: life.acked.size, sessions };
  }

  it("are isolated and wait for another attempt, while all other records are delivered", () => {
    const lives = fc.record({
      newest: fc.integer({ min: 2, max: 400 }),
      poison: fc.uniqueArray(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 3 }),
    });
    fc.assert(
      fc.property(lives, ({ newest, poison }) => {
        const here = poison.filter((seq) => seq <= newest).sort((a, b) => a - b);
        const isIn = (from: number, to: number): boolean => here.some((seq) => seq >= from && seq <= to);
        const done = deliver(newest, (from, to) => (isIn(from, to) ? "silent" : "acked"));
        expect(done.waiting.sort((a, b) => a - b)).toEqual(here);
        expect(done.acked).toBe(newest - here.length);
        // The number of halvings until a batch has a single record.
        expect(done.sessions).toBeLessThanOrEqual(1 + here.length * (Math.ceil(Math.log2(BATCH)) + 2));
      }),
    );
  });

  it("do not count as the cause of a broken connection, and all of them are delivered in the end", () => {
    const lives = fc.record({ newest: fc.integer({ min: 1, max: 300 }), odds: fc.array(fc.nat(9), { minLength: 20 }) });
    fc.assert(
      fc.property(lives, ({ newest, odds }) => {
        let asked = 0;
        const done = deliver(newest, () => ((odds[asked++ % odds.length] ?? 0) < 6 || asked < 50 ? "lost" : "acked"));
        expect(done.waiting).toEqual([]);
        expect(done.sessions === MOST_SESSIONS || done.acked === newest).toBe(true);
      }),
    );
  });

  it("count as unanswered only if the service answered another batch of the same session", () => {
    const keep = { kind: "keep", reason: "no ack in time", is_silent: true } as const;
    const silent = verdictOf(sendingFrom(at(10)), range(11, 11), keep).verdict;
    expect(silent).toMatchObject({ kind: "end", refused: { seq: 11, cause: "silence" } });
    const answered = verdictOf(sendingFrom(at(10)), range(11, 12), acked(12)).sending;
    const one = verdictOf(answered, range(13, 13), keep).verdict;
    expect(one).toMatchObject({ kind: "end", refused: { seq: 13, cause: "unanswered" } });
  });
});
