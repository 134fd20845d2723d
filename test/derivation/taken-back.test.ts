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
  ["nothing where the clock is right", [says(0), says(100)], []],
  ["nothing where it was an hour fast", [says(0, HOUR_MS), says(100)], []],
  [
    "a boot's first time, from its begin on",
    [says(5, HOUR_MS + 1), says(100)],
    [{ boot: "a", from: 0, to: 100, offset: T }],
  ],
  [
    "what stood between two right ones",
    [says(5), says(50, YEAR), says(60, 2 * YEAR), says(100, 7)],
    [
      { boot: "a", from: 50, to: 60, offset: T + 7 },
      { boot: "a", from: 60, to: 100, offset: T + 7 },
    ],
  ],
  [
    "what stood before the boot ended: it goes on by what was right before",
    [says(5, 3), says(50, YEAR), says(5, 0, { boot: "b", began: T + HOUR_MS })],
    [{ boot: "a", from: 50, to: null, offset: T + 3 }],
  ],
  [
    "a boot of which nobody ever said the right time",
    [says(5), says(5, YEAR, { boot: "b", began: T + HOUR_MS }), says(5, 0, { boot: "c", began: T + 2 * HOUR_MS })],
    [{ boot: "b", from: 0, to: null, offset: null }],
  ],
  ["no right time for a lie that was earlier and was put right itself", [says(5), says(50, -YEAR), says(60)], []],
])("taken back is %s", (_, shown, expected) => {
  expect(takenBack(shown)).toEqual(expected);
});
