import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  nextLane,
  oneLane,
  stretchOf,
  withBacklog,
  withSent,
  type LaneName,
  type Lanes,
} from "../../../src/delivery/rules/lanes.ts";

const FREE = { records: 100, mono: 0, rate: null };

/** With the context records of what waits sent. */
function afterTerms(lanes: Lanes): Lanes {
  return withSent(lanes, "context", { ...FREE, to: lanes.context?.end ?? 0 });
}

/** Sends batches of 100 until nothing is left; `grow` records come before each turn. */
function run(
  start: Lanes,
  sendable: number,
  grow: (turn: number) => number,
): { lane: LaneName; from: number; to: number }[] {
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

describe("the lanes of a log", () => {
  it.each([
    [1_999, null],
    [2_000, { seq: 10, end: 2_010 }],
    [2_001, { seq: 10, end: 2_011 }],
  ])("%i waiting records make this backlog: %o", (waiting, backlog) => {
    expect(withBacklog(oneLane(10), 10 + waiting).backlog).toEqual(backlog);
  });

  it("what is new goes first, then three of the backlog for each live one, while there is something live", () => {
    const lanes = afterTerms(withBacklog(oneLane(0), 5_000));
    const order = run(lanes, 5_000, (turn) => (turn < 20 ? 30 : 0)).map(({ lane }) => lane[0]);
    expect(order.slice(0, 12).join("")).toBe("lbbblbbblbbb");
    expect(order.slice(-20).join("")).toBe("b".repeat(20));
  });

  it("before all else go the context records of what waits", () => {
    const lanes = withBacklog(oneLane(0), 5_000);
    const order = run(lanes, 5_030, () => 0).map(({ lane }) => lane[0]);
    expect(order.join("")).toBe(`${"c".repeat(50)}l${"b".repeat(50)}`);
  });

  it("each lane is in seq order, and together they send everything once", () => {
    const stories = fc.record({
      sendable: fc.integer({ min: 0, max: 9_000 }),
      grows: fc.array(fc.integer({ min: 0, max: 250 }), { maxLength: 60 }),
    });
    fc.assert(
      fc.property(stories, ({ sendable, grows }) => {
        const sent = run(afterTerms(withBacklog(oneLane(0), sendable)), sendable, (turn) => grows[turn] ?? 0);
        for (const lane of ["live", "backlog"] as const) {
          const own = sent.filter((one) => one.lane === lane);
          for (const [index, one] of own.entries())
            expect(one.from).toBe(index === 0 ? one.from : (own[index - 1]?.to ?? 0) + 1);
        }
        const all = sent.flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, index) => from + index));
        const turns = sent.length + 1;
        const total = sendable + grows.slice(0, turns).reduce((sum, one) => sum + one, 0);
        expect(all.sort((a, b) => a - b)).toEqual(Array.from({ length: total }, (_, index) => index + 1));
      }),
      { numRuns: 1_000 },
    );
  });

  it("the backlog keeps to its rate, and doesn't hold up what is new", () => {
    const lanes = withSent(afterTerms(withBacklog(oneLane(0), 5_000)), "backlog", {
      to: 100,
      records: 100,
      mono: 1_000,
      rate: 50,
    });
    expect(nextLane(lanes, { sendable_seq: 5_000, mono: 2_999 })).toBe(null);
    expect(nextLane(lanes, { sendable_seq: 5_000, mono: 3_000 })).toBe("backlog");
    expect(nextLane(lanes, { sendable_seq: 5_001, mono: 1_001 })).toBe("live");
  });
});
