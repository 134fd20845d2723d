import { describe, expect, it } from "vitest";
import type { Parameters } from "../../src/domain/parameters.ts";
import type { BakeCurve, BakeFact } from "../../src/domain/record.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";
import { type Folded, fold, foldRecords, poll, type Script, stay, T0, valuesOf } from "../support/booth.ts";
import { live, lived, type Part } from "../support/lives.ts";
import { PLAIN, tag } from "../support/parameters.ts";

const HOT: Parameters = {
  ...PLAIN,
  tags: { ...PLAIN.tags, air: tag("air_temperature", "C"), metal: tag("metal_temperature", "C") },
};
const COLD = { air: 20, metal: 20 };
const IDLE: Part = [5 * MINUTE_MS, { mode: 1, ...COLD }];

function bakesOf(booth: Script, parameters = HOT, sizes = [6]): BakeFact["value"][] {
  return valuesOf(fold(booth.entries, parameters, sizes).facts, "b");
}

/** Reads differences back to degrees. */
function degreesIn(list: BakeCurve["low"] | undefined): (number | null)[] {
  let tenths = 0;
  return (list ?? []).map((step) => {
    if (step === null) return null;
    tenths += step;
    return tenths / 10;
  });
}

function curvesOf(bake: BakeFact["value"] | undefined, sensor: "air" | "metal") {
  return (bake?.parts ?? []).map((part) => ({
    mode: part.mode,
    low: degreesIn(part[sensor]?.low),
    high: degreesIn(part[sensor]?.high),
  }));
}

const minutesOf = ({ start, end }: { start: number; end: number }) => [
  (start - T0) / MINUTE_MS,
  (end - T0) / MINUTE_MS,
];

describe("the fact of a bake", () => {
  it("holds the lowest and highest temperature of each minute, from the start of mode bake to the end of the cool-down", () => {
    const booth = lived(HOT, [MINUTE_MS, { mode: 3, ...COLD }]);
    live(booth, [30_000, { mode: 6, air: 40 }], [30_000, { air: 55.04 }], [90_000, { air: 60, metal: 41.26 }]);
    live(booth, [60_000, { mode: 8, air: 50 }], IDLE);
    const [bake, ...others] = bakesOf(booth);
    expect(others).toEqual([]);
    expect(bake).toMatchObject({ bay: 0, bake_ms: 150_000, no_data_ms: 0, end_reason: "run", tz: "UTC" });
    expect(bake && minutesOf(bake)).toEqual([1, 4.5]);
    expect(curvesOf(bake, "air")).toEqual([
      { mode: "bake", low: [40, 60, 60], high: [55, 60, 60] },
      { mode: "cool_down", low: [50], high: [50] },
    ]);
    expect(curvesOf(bake, "metal")).toEqual([
      { mode: "bake", low: [20, 41.3, 41.3], high: [20, 41.3, 41.3] },
      { mode: "cool_down", low: [41.3], high: [41.3] },
    ]);
  });

  it("shows a peak of one second", () => {
    const booth = lived(
      HOT,
      [150_000, { mode: 6, air: 60, metal: 30 }],
      [1_000, { metal: 49.1 }],
      [29_000, { metal: 30 }],
    );
    live(booth, IDLE);
    const [curve] = curvesOf(bakesOf(booth)[0], "metal");
    expect(curve?.high).toEqual([30, 30, 49.1]);
    expect(curve?.low).toEqual([30, 30, 30]);
  });

  it.each([
    ["air and metal sensors", ["air", "metal"], HOT],
    ["no sensor", [], PLAIN],
  ])("with %s, has these curves: %j", (_, sensors, parameters) => {
    const booth = lived(parameters, [10 * MINUTE_MS, { mode: 6, ...COLD }], IDLE);
    const [bake] = bakesOf(booth, parameters);
    expect(bake?.bake_ms).toBe(10 * MINUTE_MS);
    expect(Object.keys(bake?.parts[0] ?? {}).filter((key) => key === "air" || key === "metal")).toEqual(sensors);
  });

  it("converts a temperature in Fahrenheit to Celsius", () => {
    const conversion = { scale: 5 / 9, offset: -160 / 9 };
    const parameters = { ...PLAIN, tags: { ...PLAIN.tags, metal: tag("metal_temperature", "F", { conversion }) } };
    const booth = lived(parameters, [MINUTE_MS, { mode: 6, metal: 140 }], IDLE);
    expect(curvesOf(bakesOf(booth, parameters)[0], "metal")[0]?.high).toEqual([60]);
  });

  it("has no lowest value for a minute in which the temperature was unknown for longer than the allowed gap", () => {
    const booth = lived(HOT, [MINUTE_MS, { mode: 6, air: 60, metal: 50 }]);
    live(
      booth,
      [20_000, { metal: null }],
      [100_000, { metal: 52 }],
      [70_000, { metal: null }],
      [50_000, { metal: 53 }],
      IDLE,
    );
    const [curve] = curvesOf(bakesOf(booth)[0], "metal");
    // The last minute lacks only 10 s, less than the bridge.
    expect(curve?.low).toEqual([50, null, 52, null, 53]);
    expect(curve?.high).toEqual([50, 52, 52, null, 53]);
  });

  it("ends when the next job is sprayed, so each bake of a run has its own fact", () => {
    const job: Part[] = [
      [5 * MINUTE_MS, { mode: 3 }],
      [10 * MINUTE_MS, { mode: 6 }],
    ];
    const bakes = bakesOf(lived(HOT, IDLE, ...job, ...job, IDLE));
    expect(bakes.map((bake) => [...minutesOf(bake), bake.end_reason])).toEqual([
      [10, 20, "spray"],
      [25, 35, "run"],
    ]);
  });

  it.each([
    [20, "fault"],
    [21, "estop"],
    [0, "run"],
  ])("names the reason if mode %i ends it: %s", (mode, reason) => {
    const booth = lived(HOT, [10 * MINUTE_MS, { mode: 6, ...COLD }], [5 * MINUTE_MS, { mode }]);
    expect(bakesOf(booth).map(({ end_reason }) => end_reason)).toEqual([reason]);
  });

  it("continues over a gap in the usual order, and counts the time without data", () => {
    const booth = lived(HOT, [10 * MINUTE_MS, { mode: 6, air: 60, metal: 50 }], { gap_ms: 10 * MINUTE_MS });
    live(booth, [10 * MINUTE_MS, { mode: 6, air: 60, metal: 55 }], IDLE);
    const [bake] = bakesOf(booth);
    expect(bake && minutesOf(bake)).toEqual([0, 30]);
    expect(bake).toMatchObject({ bake_ms: 20 * MINUTE_MS - 1, end_reason: "run" });
    expect(bake?.no_data_ms).toBe(10 * MINUTE_MS + 1);
    expect(bake?.parts).toHaveLength(2);
  });

  it("ends at the start of a gap after which no run stage follows, for an unknown reason", () => {
    const booth = lived(HOT, [10 * MINUTE_MS, { mode: 6, ...COLD }], { gap_ms: 50 * MINUTE_MS }, IDLE);
    const [bake] = bakesOf(booth);
    expect(bake).toMatchObject({ end_reason: "no_data", no_data_ms: 0 });
    expect(bake && Math.round(minutesOf(bake)[1] ?? 0)).toBe(10);
  });

  it("belongs to the bay that bakes, with that bay's sensors", () => {
    const tags = {
      left: tag("mode", "", { bay: 1 }),
      right: tag("mode", "", { bay: 2 }),
      air: tag("air_temperature", "C"),
      metal_2: tag("metal_temperature", "C", { bay: 2 }),
    };
    const two = { ...PLAIN, bay_count: 2, tags };
    const booth = lived(
      two,
      [MINUTE_MS, { left: 6, right: 6, air: 60, metal_2: 50 }],
      [5 * MINUTE_MS, { left: 1, right: 1 }],
    );
    const bakes = bakesOf(booth, two);
    expect(bakes.map(({ bay, parts }) => [bay, parts.map((part) => [part.air?.high, part.metal?.high])])).toEqual([
      [1, [[[600], undefined]]],
      [2, [[[600], [500]]]],
    ]);
  });

  it("is the same after a restart at any record", () => {
    const booth = lived(
      HOT,
      [MINUTE_MS, { mode: 3, ...COLD }],
      [3 * MINUTE_MS, { mode: 6, air: 60 }],
      [MINUTE_MS, { metal: 50 }],
    );
    live(booth, [MINUTE_MS, { mode: 4 }], [2 * MINUTE_MS, { mode: 6 }], [MINUTE_MS, { mode: 8 }], IDLE);
    const whole = fold(booth.entries, HOT, [1]);
    const expected = JSON.stringify(whole.facts);
    expect(JSON.stringify(restarted(whole).facts)).toBe(expected);
    expect(valuesOf(whole.facts, "b")).toHaveLength(2);
  });

  it("keeps the state bounded while the PLC stays in mode bake for two days", () => {
    const booth = lived(HOT, [MINUTE_MS, { mode: 6, air: 60, metal: 50 }]);
    for (let minute = 0; minute < 48 * 60; minute += 1) {
      booth.now += 14_000;
      poll(booth, { air: 60 + (minute % 3) });
      booth.now += 14_000;
      poll(booth);
      live(booth, [32_000]);
    }
    stay(booth, 5 * MINUTE_MS, { mode: 1 });
    const [bake] = bakesOf(booth);
    expect(bake?.parts[0]?.air?.low).toHaveLength(24 * 60);
    expect(bake?.bake_ms).toBeGreaterThan(47 * 3_600_000);
  });
});

/** Folds the same records with a state that is saved and loaded after each record. */
function restarted({ records }: Folded): Folded {
  return records.reduce<Folded>(
    (before, record) => {
      const state = JSON.parse(JSON.stringify(before.state)) as Folded["state"];
      const next = foldRecords([record], state);
      return { ...next, facts: [...before.facts, ...next.facts] };
    },
    { ...foldRecords([]), facts: [] },
  );
}
