import { describe, expect, it } from "vitest";
import { putBack } from "../../src/derivation/clock.ts";
import type { DeriveState } from "../../src/derivation/state.ts";
import { commit, foldRecords, T0 } from "../support/booth.ts";
import { clockedEntries, type ClockedLife } from "../support/clocked.ts";
import { PLAIN } from "../support/parameters.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/domain/time.ts";

/** Whole weeks without a change of the clock, so that local days and shifts are the same. */
const AHEAD = 4 * 7 * 24 * HOUR_MS;

/** Five hours of jobs with a spray stage each. */
const LIFE: ClockedLife = {
  parameters: { ...PLAIN, tz: "UTC" },
  boot: "boot-1",
  length_ms: 5 * HOUR_MS,
  poll_ms: 10_000,
  mode: (ms) => [1, 3, 4, 6][Math.floor((ms % HOUR_MS) / (15 * MINUTE_MS))] ?? 1,
  wall: (ms) => T0 + ms,
  kernel: () => true,
  service: () => null,
};

function stateOf(wall: (ms: number) => number): DeriveState {
  return foldRecords(commit(clockedEntries({ ...LIFE, wall }), LIFE.parameters, [50])).state;
}

const RIGHT = stateOf(LIFE.wall);
const offset = RIGHT.clock.offset;

/** Returns every number of the state by its path. */
function numbersIn(value: unknown, path = ""): readonly (readonly [string, number])[] {
  if (typeof value === "number") return [[path, value]];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) => numbersIn(one, `${path}/${key}`));
}

/** Hours of the wrong time are left out, because an hour is written only once. */
const withoutHours = (state: DeriveState): Partial<DeriveState> => ({ ...state, hours: {}, hour_next: null });

describe("putBack (corrects a derivation state that has a wrong time)", () => {
  it("moves all instants by the error, and returns the state that the right time would have given", () => {
    const wrong = stateOf((ms) => T0 + AHEAD + ms);
    const before = JSON.stringify(wrong);
    const moved = putBack(wrong, offset);
    expect(withoutHours(moved)).toEqual(withoutHours(RIGHT));
    expect(moved.clock).toMatchObject({ now: moved.clock.mono + offset, offset });
    // The hour of the right time is still to be written; hours of the wrong time are not.
    expect(Object.keys(wrong.hours).length + Object.keys(RIGHT.hours).length).toBeGreaterThan(1);
    expect(moved.hours).toEqual({});
    expect(moved.hour_next).toBe(Math.floor(RIGHT.clock.now / HOUR_MS) * HOUR_MS);
    expect(JSON.stringify(wrong)).toBe(before);
  });

  it("leaves instants before the error unchanged", () => {
    // Right for two hours, then ahead by `by`, as in a fold whose time cannot run back.
    const wrong = stateOf((ms) => T0 + ms);
    const limit = wrong.clock.mono + offset - 3 * HOUR_MS;
    const by = 3 * HOUR_MS;
    const moved = putBack(wrong, offset - by);
    const after = new Map(numbersIn(withoutHours(moved)));
    let kept = 0;
    for (const [path, value] of numbersIn(withoutHours(wrong))) {
      if (path === "/clock/offset") continue;
      expect([path, after.get(path)]).toEqual([path, value > limit ? value - by : value]);
      if (value > T0 && value <= limit) kept += 1;
    }
    expect(kept).toBeGreaterThan(10);
    expect(moved.clock).toMatchObject({ now: limit, offset: offset - by });
    expect(Object.keys(moved.hours).every((hour) => Number(hour) <= limit)).toBe(true);
  });

  it.each([
    [HOUR_MS - 1, true],
    [HOUR_MS, true],
    [HOUR_MS + 1, false],
  ])("leaves a state whose error is %i ms unchanged: %s", (by, stays) => {
    const moved = putBack(RIGHT, offset - by);
    expect(moved === RIGHT).toBe(stays);
    if (!stays) expect(moved.clock.now).toBe(RIGHT.clock.now - by);
  });
});
