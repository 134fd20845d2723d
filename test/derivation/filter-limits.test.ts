import { describe, expect, it } from "vitest";
import { maxRateOf, type Parameters, type TagRole } from "../../src/domain/parameters.ts";
import { enterFilter, put, run, script, type Script, stay, T0, valuesOf } from "../support/booth.ts";
import { exhaustFilter, live, lived } from "../support/lives.ts";
import { minutesTag, PARAMETERS, tag, uncounted, withFilters } from "../support/parameters.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../src/domain/time.ts";

/** Returns the starts of overuse, ms since the start. */
function overuse(booth: Script, parameters: Parameters): number[] {
  const filter = exhaustFilter(booth, parameters)?.current;
  return (filter?.overuse ?? []).map(({ since }) => since - T0);
}

describe("overuse of a filter", () => {
  it.each([
    [2, []],
    [3, [50 * MINUTE_MS]],
    [4, [50 * MINUTE_MS]],
  ])("starts, for a limit of 3 cycles and %i cycles of use, at %j ms", (cycles, since) => {
    const parameters = uncounted(withFilters({ exhaust_filter: { limits: { cycles: 3 } } }));
    const booth = script(parameters);
    enterFilter(booth, 0);
    for (let one = 0; one < cycles; one += 1) {
      live(booth, [10 * MINUTE_MS, { mode: 3 }], [10 * MINUTE_MS, { mode: 1 }]);
    }
    expect(overuse(booth, parameters)).toEqual(since);
  });

  it.each([
    [DAY_MS - 1, []],
    [DAY_MS, [DAY_MS]],
    [DAY_MS + 1, [DAY_MS]],
  ])("starts, for a limit of 1 day and an age of %i ms, at %j ms", (age, since) => {
    const parameters = withFilters({ exhaust_filter: { limits: { days: 1 } } });
    const booth = script(parameters);
    enterFilter(booth, 0);
    live(booth, [age, { mode: 1 }], [5000, { mode: 0 }]);
    const found = overuse(booth, parameters).filter((at) => at <= age);
    expect(found).toEqual(since);
  });

  it.each([
    [99.9, 0],
    [100, 1],
    [100.1, 1],
  ])("has, for a limit of 100 min and a PLC counter at %d min, %i episode(s)", (minutes, count) => {
    const parameters = withFilters(
      { exhaust_filter: { limits: { minutes: 100 } } },
      { exhaust: minutesTag("exhaust_filter") },
    );
    const booth = lived(parameters, [HOUR_MS, { mode: 3, exhaust: 60 }], [MINUTE_MS, { exhaust: minutes }]);
    stay(booth, MINUTE_MS, { mode: 1 });
    expect(overuse(booth, parameters)).toHaveLength(count);
  });

  it.each([
    [29, true],
    [30, true],
    [31, false],
  ])("exists if the limit is lowered to %i min after 30 min of use: %s", (minutes, is) => {
    const first = withFilters({ exhaust_filter: { limits: { minutes: 100 } } });
    const booth = script(first);
    enterFilter(booth, 0);
    live(booth, [30 * MINUTE_MS, { mode: 3 }], [5 * MINUTE_MS, { mode: 1 }]);
    put(booth, { kind: "p", value: withFilters({ exhaust_filter: { limits: { minutes } } }) });
    stay(booth, 5 * MINUTE_MS);
    expect(overuse(booth, first)).toEqual(is ? [35 * MINUTE_MS] : []);
  });
});

describe("filter entries", () => {
  const parameters = withFilters({ exhaust_filter: { limits: { minutes: 100 } } });

  it.each([
    [10 * MINUTE_MS - 1, 1],
    [10 * MINUTE_MS, 1],
    [10 * MINUTE_MS + 1, 2],
  ])("two entries that are %i ms apart count as %i change(s)", (apart, count) => {
    const booth = lived(parameters, [HOUR_MS, { mode: 1 }]);
    enterFilter(booth);
    stay(booth, apart);
    enterFilter(booth);
    stay(booth, 5 * MINUTE_MS);
    const { facts } = run(booth, parameters);
    expect(valuesOf(facts, "f").filter(({ source }) => source === "technician")).toHaveLength(count);
  });

  it.each([
    [DAY_MS - 1, true],
    [DAY_MS, true],
    [DAY_MS + 1, false],
  ])("an undo %i ms after the entry is accepted: %s", (after, undone) => {
    const booth = script(parameters);
    enterFilter(booth, 0);
    stay(booth, HOUR_MS, { mode: 1 });
    enterFilter(booth);
    stay(booth, after);
    const seq = run(booth, parameters).records.findLast(({ kind }) => kind === "f")?.seq ?? 0;
    put(booth, { kind: "x", value: { seq } });
    stay(booth, 5 * MINUTE_MS);
    const installed = exhaustFilter(booth, parameters)?.current.installed_at ?? 0;
    expect(installed - T0).toBe(undone ? 0 : HOUR_MS);
  });

  it.each([
    [12 * HOUR_MS - 1, 1],
    [12 * HOUR_MS, 1],
    [12 * HOUR_MS + 1, 2],
  ])("an entry and a PLC reset %i ms later count as %i filter change(s)", (after, count) => {
    const counted = withFilters(
      { exhaust_filter: { limits: { minutes: 100 } } },
      { exhaust: minutesTag("exhaust_filter"), button: tag("filter_reset", "", { filter: "exhaust_filter" }) },
    );
    const booth = lived(counted, [MINUTE_MS, { mode: 1, exhaust: 60, button: false }]);
    enterFilter(booth);
    live(booth, [after], [5 * MINUTE_MS, { button: true, exhaust: 0 }]);
    const { former } = exhaustFilter(booth, counted) ?? {};
    // If both are one change, the filter of first contact came out last.
    expect(former?.source).toBe(count === 1 ? "assumed" : "technician");
  });
});

it.each<[TagRole, string, number, number | undefined]>([
  ["cycle_counter", "cycles", 1, 6],
  ["hour_meter", "h", 1, 1.02],
  ["hour_meter", "min", 1, 61.2],
  ["hour_meter", "s", 1, 3672],
  ["filter_minutes", "min", 1, 61.2],
  ["motor_starts", "", 1, 60],
  ["gas", "therm", 1, 11],
  ["gas", "m3", 0.5, 22],
  ["gas", "therm", 0, 11],
  ["kwh", "kWh", 1, undefined],
])("maxRateOf limits the role %s in the unit %j with factor %d to %s per hour", (...[role, unit, factor, rate]) => {
  const parameters = { ...PARAMETERS, burner_size_btu_h: 1_000_000 };
  const found = maxRateOf(tag(role, unit, { factor, counter: { step: 1, retained: true } }), parameters);
  if (rate === undefined) expect(found).toBeUndefined();
  else expect(found).toBeCloseTo(rate, 9);
});
