import { describe, expect, it } from "vitest";
import { afterOffer, NEW_SESSION, type Order } from "./lanes.ts";

/** Returns the order after batches of one session, each given by its first and last seq. */
function sent(batches: readonly (readonly [number, number])[], answered = new Set<number>()): Order | null {
  let order: Order | null = NEW_SESSION;
  for (const [first, last] of batches) {
    const seqs = Array.from({ length: last - first + 1 }, (_, i) => first + i);
    order = order === null ? null : afterOffer(order, seqs, answered);
  }
  return order;
}

const upTo = (last: number): Set<number> => new Set(Array.from({ length: last }, (_, i) => i + 1));

describe("a session's batches", () => {
  it("form at most three lanes (send queues) with ascending record numbers", () => {
    expect(
      sent([
        [50, 60],
        [1, 9],
        [61, 62],
        [10, 19],
        [2, 2],
        [63, 63],
        [20, 29],
      ])?.lanes,
    ).toEqual([63, 29, 2]);
    expect(
      sent([
        [50, 60],
        [40, 45],
        [30, 35],
        [20, 25],
      ]),
    ).toBe(null);
  });

  it("open no further lane (send queue) if they repeat only answered records or the service's newest record", () => {
    const rows = [
      [50, 60],
      [40, 45],
      [30, 35],
    ] as const;
    expect(sent([...rows, [20, 20]])).toBe(null);
    expect(sent([...rows, [20, 20], [10, 12]], upTo(20))?.lanes).toEqual([60, 45, 35]);
    expect(sent([...rows, [20, 21]], upTo(20))).toBe(null);
    expect(afterOffer({ lanes: [60, 45, 35], held_seq: 25 }, [25], new Set())?.lanes).toEqual([60, 45, 35]);
    expect(afterOffer({ lanes: [60, 45, 35], held_seq: 25 }, [24, 25], new Set())).toBe(null);
  });
});
