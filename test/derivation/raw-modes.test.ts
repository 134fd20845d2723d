import { describe, expect, it } from "vitest";
import { type Parameters } from "../../src/domain/parameters.ts";
import { modeOf, rawMode } from "../../src/derivation/parameters.ts";
import { openEndOf } from "../../src/derivation/fold.ts";
import { enterFilter, poll, put, run, script, stay, T0, valuesOf } from "../support/booth.ts";
import { exhaustFilter, live, lived } from "../support/lives.ts";
import { PLAIN, tag, withFilters } from "../support/parameters.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../src/domain/time.ts";

describe("the raw value of a mode", () => {
  it.each([
    [true, "1"],
    [false, "0"],
    [3, "3"],
    ["spray+bake", "spray+bake"],
  ])("is, for the reading %j, the text %s", (value, raw) => {
    expect(rawMode(value)).toBe(raw);
  });

  it.each([
    ["3", "spray"],
    ["77", "unknown"],
    ["", "unknown"],
    ["constructor", "unknown"],
  ])("%j maps to the mode %s", (raw, mode) => {
    expect(modeOf(PLAIN, raw)).toBe(mode);
  });

  it("from a single mode bit maps to a mode, so that stages follow", () => {
    const booth = lived(PLAIN, [10 * MINUTE_MS, { mode: true }], [MINUTE_MS, { mode: false }]);
    const [first] = valuesOf(run(booth, PLAIN).facts, "m");
    expect([first?.raw, first?.mode]).toEqual(["1", PLAIN.modes["1"]]);
  });
});

it("a booth with two bays has stages as soon as the modes of both bays are known", () => {
  const two: Parameters = {
    ...PLAIN,
    bay_count: 2,
    tags: { left: tag("mode", "", { bay: 1 }), right: tag("mode", "", { bay: 2 }) },
  };
  const booth = lived(two, [10 * MINUTE_MS, { left: 3 }], [5 * MINUTE_MS, { left: 4 }], [10 * MINUTE_MS, { right: 1 }]);
  stay(booth, 5 * MINUTE_MS, { left: 1 });
  const stages = valuesOf(run(booth, two).facts, "m").map(({ bay, mode, start }) => [
    bay,
    mode,
    (start - T0) / MINUTE_MS,
  ]);
  expect(stages).toEqual([
    [1, "spray", 0],
    [1, "flash", 10],
    [0, "flash", 15],
  ]);
});

it("an entry that dates the first filter back beyond its limit in days starts overuse immediately", () => {
  const rules = withFilters({ exhaust_filter: { limits: { days: 30 } } });
  const enter = (days: number) => {
    const booth = lived(rules, [10 * MINUTE_MS, { mode: 1 }]);
    enterFilter(booth, -days * DAY_MS);
    stay(booth, 10 * MINUTE_MS);
    return exhaustFilter(booth, rules)?.current;
  };
  expect(enter(29)?.overuse).toEqual([]);
  expect(enter(30)).toMatchObject({ known: true, overuse: [{ until: null }] });
});

it("the derivation state keeps at most 600 samples of a pressure sensor that changes every second", () => {
  const rules = withFilters(
    { exhaust_filter: { limits: { pressure_pa: 100 } } },
    { drop: tag("filter_pressure", "Pa", { filter: "exhaust_filter" }) },
  );
  const booth = script(rules);
  for (let second = 0; second < 700; second += 1) {
    poll(booth, { mode: 3, drop: second });
    booth.now += 1_000;
  }
  const samples = run(booth, rules).state.samples["drop"] ?? [];
  expect(samples.length).toBeGreaterThan(500);
  expect(samples.length).toBeLessThanOrEqual(600);
  expect(samples.at(-1)?.[1]).toBe(698);
});

it("after a filter change right after a spray stage, the stage's pressure drop belongs to the old filter", () => {
  const rules = withFilters(
    { exhaust_filter: { limits: { pressure_pa: 100 } } },
    {
      drop: tag("filter_pressure", "Pa", { filter: "exhaust_filter" }),
      button: tag("filter_reset", "", { filter: "exhaust_filter" }),
    },
  );
  const booth = script(rules);
  live(booth, [MINUTE_MS, { mode: 1, drop: 0, button: false }], [10 * MINUTE_MS, { mode: 3, drop: 300 }]);
  // After a second of flash, the spray stage is not final yet.
  live(booth, [1_000, { mode: 4 }], [1_000, { button: true }], [MINUTE_MS, { button: false }]);
  const { state } = run(booth, rules);
  const filter = state.filters.exhaust_filter;
  expect(filter?.current).toMatchObject({ source: "plc_reset", pressure: { drops: [] } });
  expect(filter?.former?.pressure.drops).toEqual([{ end: T0 + 11 * MINUTE_MS, pascal: 300 }]);
});

it("a gap record (dropped log records) changes no stage", () => {
  const life = (isGivenUp: boolean) => {
    const booth = lived(PLAIN, [10 * MINUTE_MS, { mode: 3 }]);
    if (isGivenUp) put(booth, { kind: "g", value: { from: 1, to: 2, reason: "budget" } });
    stay(booth, 10 * MINUTE_MS, { mode: 1 });
    return valuesOf(run(booth, PLAIN).facts, "m");
  };
  expect(life(true)).toEqual(life(false));
  expect(life(true)).toHaveLength(1);
});

it("an event without a tag opens an incident of the booth", () => {
  const booth = lived(PLAIN, [MINUTE_MS, { mode: 1 }]);
  put(booth, { kind: "e", value: { event: "torn", detail: "two halves" } });
  stay(booth, MINUTE_MS);
  const [incident] = valuesOf(run(booth, PLAIN).facts, "i");
  expect(incident).toMatchObject({ tag_name: "", check: "torn", reason: "two halves", severity: "warning" });
});

it.each([
  [11, "spray", 10 * MINUTE_MS - 1 + 15_000],
  [13, "no_data", 14 * HOUR_MS],
])("after %i h of silence, the booth's stage is shown as %s until %i ms", (...[hours, mode, end]) => {
  const booth = lived(PLAIN, [10 * MINUTE_MS, { mode: 3 }]);
  booth.now += hours * HOUR_MS;
  put(booth, { kind: "e", value: { event: "torn", detail: "two halves" } });
  const last = openEndOf(run(booth, PLAIN).state, T0 + 14 * HOUR_MS).stages.at(-1);
  expect([last?.mode, (last?.end ?? NaN) - T0]).toEqual([mode, end]);
});
