import { expect, test } from "vitest";
import { takenBack, type Shown } from "../../src/derivation/clock.ts";
import type { TakenBack } from "../../src/derivation/state.ts";
import { HOUR_MS } from "../../src/domain/time.ts";

const T = 1_740_960_000_000;
const YEAR = 365 * 24 * HOUR_MS;

/** A clock record `mono` ms after a boot at T, with a wall clock that is wrong by `off`. */
function says(mono: number, off = 0, { boot = "a", began = T } = {}): Shown {
  return { boot, mono, wall: began + mono + off };
}

test.each<[string, readonly Shown[], readonly TakenBack[]]>([
  ["nothing if the clock is right", [says(0), says(100)], []],
  ["nothing if the clock was at most an hour fast", [says(0, HOUR_MS), says(100)], []],
  [
    "the span from the start of the boot if its first time was wrong",
    [says(5, HOUR_MS + 1), says(100)],
    [{ boot: "a", from: 0, to: 100, offset: T }],
  ],
  [
    "the wrong spans between two right times",
    [says(5), says(50, YEAR), says(60, 2 * YEAR), says(100, 7)],
    [
      { boot: "a", from: 50, to: 60, offset: T + 7 },
      { boot: "a", from: 60, to: 100, offset: T + 7 },
    ],
  ],
  [
    "the wrong span until the end of the boot, with the last right offset",
    [says(5, 3), says(50, YEAR), says(5, 0, { boot: "b", began: T + HOUR_MS })],
    [{ boot: "a", from: 50, to: null, offset: T + 3 }],
  ],
  [
    "the whole boot, with no offset, if its right time was never known",
    [says(5), says(5, YEAR, { boot: "b", began: T + HOUR_MS }), says(5, 0, { boot: "c", began: T + 2 * HOUR_MS })],
    [{ boot: "b", from: 0, to: null, offset: null }],
  ],
  ["nothing if a clock that was a year slow is corrected", [says(5), says(50, -YEAR), says(60)], []],
])("takenBack (spans with a wrong time and their corrected offsets) returns %s", (_, shown, expected) => {
  expect(takenBack(shown)).toEqual(expected);
});
