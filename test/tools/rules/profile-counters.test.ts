import { describe, expect, it } from "vitest";
import { counterFindings, type CounterReading, guessOf } from "../../../src/tools/rules/profile-counters.ts";

/** A look each 6 s, through these modes; `places` makes what stands there of the minutes gone, and of those in a run. */
function watched(
  modes: readonly (readonly [mode: string, minutes: number])[],
  places: (at: { readonly minutes: number; readonly run: number }) => Readonly<Record<string, number>>,
): readonly CounterReading[] {
  const looks: CounterReading[] = [];
  let run = 0;
  for (const [mode, minutes] of modes) {
    for (let i = 0; i < minutes * 10; i++) {
      const at = { minutes: looks.length / 10, run };
      looks.push({ at_ms: looks.length * 6000, mode, places: new Map(Object.entries(places(at))) });
      if (mode !== "idle") run = Math.round(10 * run + 1) / 10;
    }
  }
  return looks;
}

const DAY = [
  ["idle", 3],
  ["spray", 5],
  ["cool_down", 3],
  ["idle", 2],
] as const;

describe("counterFindings", () => {
  it("finds a register that only grows, joins it with its constant high word, and ignores sensors, bits and noise", () => {
    const looks = watched(DAY, ({ minutes, run }) => ({
      "holding:9": 7,
      "holding:10": Math.floor(run * 10) + 65_530,
      "holding:12": 500 + Math.round(20 * Math.sin(minutes)),
      "coil:3": 1,
    })).map(({ places, ...look }) => {
      const total = places.get("holding:10") ?? 0;
      return {
        ...look,
        places: new Map([...places, ["holding:10", total % 65_536], ["holding:11", 2 + Math.floor(total / 65_536)]]),
      };
    });
    const [found, ...more] = counterFindings(looks, "high_first");
    expect(more).toEqual([]);
    expect(found).toMatchObject({ place: "holding:10", type: "uint32", word_order: "low_first", also: [] });
    expect((found?.last ?? 0) - (found?.first ?? 0)).toBe(80);
    expect(found?.growth.map(({ mode, grown }) => [mode, grown > 0])).toEqual([
      ["idle", false],
      ["spray", true],
      ["cool_down", true],
    ]);
    expect(found === undefined ? null : guessOf(found)).toEqual({ tag: "run_minutes", scale: 0.1 });
  });

  it("returns both word orders of a counter if both fit, so that the displayed value can decide", () => {
    const looks = watched(DAY, ({ minutes }) => ({
      "holding:1": 0,
      "holding:2": 1800 + Math.floor(minutes),
      "holding:3": 5,
    }));
    const [found] = counterFindings(looks, "low_first");
    expect(found).toMatchObject({ place: "holding:2", word_order: "low_first" });
    expect(found?.also).toEqual([{ place: "holding:1", word_order: "high_first", last: 1812 }]);
  });

  it("recognizes a counter of seconds as the uptime, and assigns a step at the end of a stage to that stage", () => {
    const looks = watched(DAY, ({ minutes, run }) => ({
      r: Math.floor(minutes * 60),
      s: run > 4.95 ? 3 : run > 2 ? 2 : 1,
    }));
    const [uptime, steps] = counterFindings(looks, "high_first");
    expect(uptime === undefined ? null : guessOf(uptime)).toEqual({ tag: "uptime_s", scale: 1 });
    expect(steps?.growth.find(({ mode }) => mode === "spray")?.grown).toBe(2);
  });

  it("ignores a register whose value decreased or was missing once", () => {
    const falls = watched(DAY, ({ minutes }) => ({ r: minutes > 6 ? 1 : Math.floor(minutes * 10) }));
    expect(counterFindings(falls, "high_first")).toEqual([]);
    const [first, ...rest] = watched(DAY, ({ minutes }) => ({ r: Math.floor(minutes * 10) }));
    const hole = { at_ms: 0, mode: "idle", places: new Map<string, number>() };
    expect(counterFindings([...(first === undefined ? [] : [first]), hole, ...rest], "high_first")).toEqual([]);
  });
});
