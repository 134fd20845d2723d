import { expect, it } from "vitest";
import type { Parameters, TagParameters } from "../../src/domain/parameters.ts";
import { withUnitsInForce } from "../../src/domain/tag-units.ts";
import { usedMinutes } from "../../src/derivation/filters/installation.ts";
import { summaryOf } from "../../src/reports/summary.ts";
import { fold, put, type Script, stay, valuesOf } from "../support/booth.ts";
import { live, lived } from "../support/lives.ts";
import { minutesTag, tag, withFilters } from "../support/parameters.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/domain/time.ts";

function booth(
  tags: Readonly<Record<string, TagParameters>>,
  limits = { pressure_pa: 125, minutes: 6000 },
): Parameters {
  const converted = Object.entries(tags).map(([name, one]) => [name, withUnitsInForce(one)] as const);
  return withFilters({ exhaust_filter: { limits, baseline_pa: 50 } }, Object.fromEntries(converted));
}

function meterIn(unit: string): TagParameters {
  return { ...minutesTag("exhaust_filter"), unit };
}

function filterAfter(of: Script, parameters: Parameters) {
  stay(of, 2 * MINUTE_MS, { mode: 1 });
  return fold(of.entries, parameters, [6]).state.filters.exhaust_filter?.current;
}

it("a filter meter in minutes is read as minutes for every spelling of the unit", () => {
  const used = ["min", "minutes", "Min."].map((unit) => {
    const parameters = booth({ exhaust: meterIn(unit) });
    const life = lived(parameters, [HOUR_MS, { mode: 1, exhaust: 100 }]);
    const filter = filterAfter(life, parameters);
    return filter === undefined ? null : usedMinutes(filter);
  });
  expect(used).toEqual([100, 100, 100]);
});

it("pressure limits in Pa apply to a sensor in inches of water", () => {
  const over = [0.69, 0.72].map((drop) => {
    const sensor = tag("filter_pressure", "inWC", { filter: "exhaust_filter" });
    const parameters = booth({ drop: sensor, fan: tag("fan_speed", "percent") });
    const life = lived(parameters, [MINUTE_MS, { mode: 1, drop: 0, fan: 100 }]);
    for (let nth = 0; nth < 2; nth += 1) {
      live(life, [10 * MINUTE_MS, { mode: 3, drop, fan: 100 }], [MINUTE_MS, { mode: 4 }]);
    }
    return filterAfter(life, parameters)?.overuse.length;
  });
  // The clean drop of 50 Pa and the limit of 125 Pa are 0.703 inWC.
  expect(over).toEqual([0, 1]);
});

it("a bake at 110 °F is warm enough for the cross-check, and a bake at 100 °F is not", () => {
  const colds = [110, 100].map((air) => {
    const parameters = booth({ air: tag("air_temperature", "degF"), fan: tag("fan_speed", "%") });
    const life = lived(parameters, [21 * MINUTE_MS, { mode: 6, air, fan: 100 }], [5 * MINUTE_MS, { air: air - 1 }]);
    const incidents = valuesOf(fold(life.entries, parameters, [6]).facts, "i");
    return incidents.filter(({ check }) => check === "cross").length;
  });
  expect(colds).toEqual([0, 1]);
});

it("a filter meter whose unit becomes invalid opens an incident, and the booth's own count replaces the meter", () => {
  const good = booth({ exhaust: meterIn("min") }, { pressure_pa: 125, minutes: 50 });
  const unfit = booth({ exhaust: meterIn("minuets") }, { pressure_pa: 125, minutes: 50 });
  const life = lived(good, [HOUR_MS, { mode: 1, exhaust: 100 }]);
  put(life, { kind: "p", value: unfit });
  stay(life, HOUR_MS, { mode: 1, exhaust: 101 });
  const { facts, state } = fold(life.entries, good, [6]);
  const current = state.filters.exhaust_filter?.current;
  expect(current?.plc).toBeNull();
  expect(current?.overuse.at(-1)?.until).not.toBeNull();
  expect(valuesOf(facts, "i")).toMatchObject([
    { check: "config_unit", tag_name: "exhaust", severity: "error", resolved_at: null },
  ]);
  expect(state.incidents["config_unit exhaust"]?.reason).toContain('the unit "minuets" does not fit');
  expect(summaryOf(state, life.now).unfit_units).toEqual([
    { tag: "exhaust", reason: expect.stringContaining('"minuets" does not fit the role filter_minutes') as unknown },
  ]);
});

it("the incident of a meter with an invalid unit is resolved after the profile is corrected", () => {
  const unfit = booth({ exhaust: meterIn("minuets") });
  const life = lived(unfit, [HOUR_MS, { mode: 1, exhaust: 100 }]);
  put(life, { kind: "p", value: booth({ exhaust: meterIn("min") }) });
  stay(life, HOUR_MS, { mode: 1, exhaust: 101 });
  const { facts, state } = fold(life.entries, unfit, [6]);
  expect(valuesOf(facts, "i").map(({ check, resolved_at }) => [check, resolved_at === null])).toEqual([
    ["config_unit", true],
    ["config_unit", false],
  ]);
  expect(state.filters.exhaust_filter?.current.plc?.value).toBe(101);
});

it("a clean pressure drop that was determined without a unit is converted once the sensor's unit is known", () => {
  const raw = withFilters(
    { exhaust_filter: { limits: { pressure_pa: 125 } } },
    { drop: tag("filter_pressure", "inWC", { filter: "exhaust_filter" }), fan: tag("fan_speed", "%") },
  );
  const drop = withUnitsInForce(tag("filter_pressure", "inWC", { filter: "exhaust_filter" }));
  const converted = { ...raw, tags: { ...raw.tags, drop } };
  const life = lived(raw, [MINUTE_MS, { mode: 1, drop: 0, fan: 100 }]);
  for (let nth = 0; nth < 3; nth += 1) {
    live(life, [10 * MINUTE_MS, { mode: 3, drop: 0.2, fan: 100 }], [MINUTE_MS, { mode: 4 }]);
  }
  stay(life, 2 * MINUTE_MS, { mode: 1 });
  put(life, { kind: "p", value: converted });
  stay(life, MINUTE_MS);
  put(life, { kind: "p", value: { ...converted, tz: "Europe/Berlin" } });
  const current = filterAfter(life, raw);
  expect(current?.pressure.baseline).toBeCloseTo(0.2 * 249.089, 6);
});
