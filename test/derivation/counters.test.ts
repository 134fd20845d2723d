import { expect, test } from "vitest";
import { countOf, type Pair } from "../../src/derivation/timeline/readings.ts";
import type { CountKind } from "../../src/derivation/timeline/events.ts";
import { HOUR_MS } from "../../src/domain/time.ts";

type Count = [kind: CountKind, delta: number];
const BASE: Pair = {
  previous: 100,
  next: 100,
  elapsed_ms: HOUR_MS,
  restarted: false,
  counter: { step: 1, modulus: 65_536, retained: true },
  max_rate_per_h: 6,
};

test.each<[string, Partial<Pair>, ...Count]>([
  ["unchanged", {}, "normal", 0],
  ["one below one step + rate x time x 1.5", { next: 109 }, "normal", 9],
  ["at it", { next: 110 }, "normal", 10],
  ["one above", { next: 111 }, "unexplained", 0],
  ["wrap of 16 bits", { previous: 65_533, next: 2 }, "wrap", 5],
  ["wrap of BCD-4", { previous: 9998, next: 1, counter: { step: 1, modulus: 10_000, retained: true } }, "wrap", 3],
  ["wrap at the plausible limit", { previous: 65_530, next: 4 }, "wrap", 10],
  ["beyond it, but counted from 0", { previous: 65_000, next: 5 }, "reset", 5],
  [
    "no modulus: a fall to a small value",
    { previous: 5000, next: 3, counter: { step: 1, retained: true } },
    "reset",
    3,
  ],
  ["a fall to the largest small value", { previous: 5000, next: 10 }, "reset", 10],
  ["a fall to one above", { previous: 5000, next: 11 }, "unexplained", 0],
  ["the same with restart evidence", { previous: 5000, next: 4000, restarted: true }, "reset", 0],
  ["no known rate: any growth", { next: 1_000_000, max_rate_per_h: undefined }, "normal", 999_900],
  ["no known rate: no fall is explained", { previous: 65_535, next: 0, max_rate_per_h: undefined }, "unexplained", 0],
])("%s", (_name, pair, ...[kind, delta]) => {
  expect(countOf({ ...BASE, ...pair })).toEqual({ kind, delta });
});
