import { describe, expect, it } from "vitest";
import { energyDiffers } from "../../src/derivation/checks/checks.ts";
import { energyOf, workRate } from "../../src/derivation/parameters.ts";
import { openEndOf } from "../../src/derivation/fold.ts";
import type { Parameters, TagParameters } from "../../src/domain/parameters.ts";
import { fold, poll, put, script, type Script, silence, stay, T0, valuesOf } from "../support/booth.ts";
import { live, lived } from "../support/lives.ts";
import { PLAIN, tag } from "../support/parameters.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/domain/time.ts";

const SIZED: Parameters = {
  ...PLAIN,
  tags: { ...PLAIN.tags, flame: tag("burner_modulation", "%"), fan: tag("fan_speed", "%") },
  burner_size_btu_h: 1_000_000,
  motor_size_hp: 20,
};
const METERS: Record<string, TagParameters> = {
  gas: tag("gas", "therm", { counter: { step: 0.01, retained: true } }),
  power: tag("kwh", "kWh", { counter: { step: 0.1, retained: true } }),
};
const METERED: Parameters = { ...SIZED, tags: { ...SIZED.tags, ...METERS } };

/** Returns therm and kWh of each written hour. */
function hoursOf(booth: Script, parameters: Parameters = SIZED): [number, number, number][] {
  const { facts } = fold(booth.entries, parameters, [7]);
  return valuesOf(facts, "d").map(({ hour, gas_therm, energy_kwh }) => [(hour - T0) / HOUR_MS, gas_therm, energy_kwh]);
}

/** Plays an hour with these values until it is final; returns its therm and kWh. */
function hourOf(values: Record<string, number>, parameters: Parameters = SIZED): [number, number] {
  const booth = lived(parameters, [HOUR_MS, { mode: 3, ...values }], [11 * MINUTE_MS, { flame: 0, fan: 0 }]);
  poll(booth, { mode: 1 });
  const [[, gas, kwh] = [NaN, NaN, NaN]] = hoursOf(booth, parameters);
  return [gas, kwh];
}

describe("an hour's energy estimate", () => {
  it.each([
    [{ flame: 100, fan: 100 }, [10, 14.914]],
    [{ flame: 50, fan: 50 }, [5, 1.86425]],
    [{ flame: 0.4, fan: 0.4 }, [0, 0]],
    [{ flame: 0.5, fan: 1 }, [0.1, 0.000_014]],
    [{ flame: 99.4, fan: 99.4 }, [9.9, 14.471_039]],
    // Loads are clipped to 0..100 %.
    [{ flame: 130, fan: 130 }, [10, 14.914]],
    [{ flame: -5, fan: -5 }, [0, 0]],
  ])("at the burner and fan loads %j is %j (therm and kWh)", (values, expected) => {
    expect(hourOf(values)).toEqual(expected);
  });

  it("is 0 for a machine without a configured size, and for a load that is not read", () => {
    const { tags, burner_size_btu_h = NaN, motor_size_hp = NaN } = SIZED;
    const no_burner = { ...PLAIN, tags, motor_size_hp };
    const no_motor = { ...PLAIN, tags, burner_size_btu_h };
    expect(hourOf({ flame: 100, fan: 100 }, no_burner)).toEqual([0, 14.914]);
    expect(hourOf({ flame: 100, fan: 100 }, no_motor)).toEqual([10, 0]);
    expect(hourOf({ fan: 100 })).toEqual([0, 14.914]);
  });

  it("is 0 if a meter is configured", () => {
    expect(hourOf({ flame: 100, fan: 100, gas: 7, power: 7 }, METERED)).toEqual([0, 0]);
  });

  it("uses the machine size that is configured at each moment", () => {
    const booth = lived(SIZED, [30 * MINUTE_MS, { mode: 3, flame: 100, fan: 0 }]);
    put(booth, { kind: "p", value: { ...SIZED, burner_size_btu_h: 500_000 } });
    live(booth, [30 * MINUTE_MS], [11 * MINUTE_MS, { flame: 0 }]);
    poll(booth, { mode: 1 });
    expect(hoursOf(booth)).toEqual([[0, 7.5, 0]]);
  });
});

describe("the burner work in an hour's energy estimate", () => {
  it.each([
    [14_999, 10 * MINUTE_MS + 14_999],
    [15_000, 10 * MINUTE_MS + 15_000],
    [15_001, 10 * MINUTE_MS],
  ])("includes, for a silence of %i ms before the load is read again, %i ms of work", (gap, worked) => {
    const booth = lived(SIZED, [10 * MINUTE_MS, { mode: 3, flame: 100 }]);
    poll(booth);
    live(booth, { gap_ms: gap }, [20 * MINUTE_MS, { mode: 3, flame: 0 }]);
    const { state } = fold(booth.entries, SIZED, [3]);
    expect(openEndOf(state, T0 + booth.now).state.hours[String(T0)]?.work?.burner).toBe(worked * 1_000_000 * 100);
  });

  it("excludes time before the first mode reading and after a bad load reading", () => {
    const booth = lived(SIZED, [5 * MINUTE_MS, { flame: 100 }], [10 * MINUTE_MS, { mode: 3 }]);
    live(booth, [10 * MINUTE_MS, { flame: null }], [MINUTE_MS, { flame: 50 }]);
    poll(booth, { flame: 0 });
    const { state } = fold(booth.entries, SIZED, [5]);
    const { work } = openEndOf(state, T0 + booth.now).state.hours[String(T0)] ?? {};
    expect(work?.burner).toBe((10 * MINUTE_MS * 100 + MINUTE_MS * 50) * 1_000_000);
  });
});

/** The silence ends at a full hour, so the load of the new hour may be read before the time before it is settled. */
it.each([1, 2, 3, 1000])(
  "an hour that begins after a silence has the same burner work if commits have %i entries",
  (size) => {
    const booth = lived(SIZED, [12 * MINUTE_MS, { mode: 3, flame: 50, fan: 0 }], { gap_ms: 108 * MINUTE_MS });
    stay(booth, 1000, { mode: 3, flame: 100, fan: 0 });
    silence(booth, 14_999);
    poll(booth, { mode: 1, flame: 0 });
    const { state } = openEndOf(fold(booth.entries, SIZED, [size]).state, T0 + booth.now);
    // The last poll of a stay comes 1 ms before its end, and a gap begins there.
    const works = [0, 1, 2].map((hour) => state.hours[String(T0 + hour * HOUR_MS)]?.work?.burner);
    expect(works).toEqual([(12 * MINUTE_MS - 1) * 50_000_000, undefined, 15_999 * 100_000_000]);

    stay(booth, 3 * HOUR_MS + 11 * MINUTE_MS - booth.now, { mode: 1 });
    poll(booth, { mode: 0 });
    const hours = valuesOf(fold(booth.entries, SIZED, [size]).facts, "d");
    expect(hours.map(({ hour, gas_therm }) => [(hour - T0) / HOUR_MS, gas_therm])).toEqual([
      [0, 0.999_998],
      [1, 0],
      [2, 0.044_441],
    ]);
  },
);

it.each([
  // Full load for the time of a millionth of a therm is 0.36 ms.
  [workRate("burner", 1_000_000, 1) * 35, 0],
  [workRate("burner", 1_000_000, 1) * 36, 0.000_001],
  [workRate("burner", 1_000_000, 1) * 37, 0.000_001],
])("energyOf converts burner work of %i to %f therm", (work, therm) => {
  expect(energyOf("burner", work)).toBe(therm);
});

/** Plays a day in which the meters rise by these amounts while the machines run at half load for `hours`. */
function day({ gas, power, hours }: { gas: number; power: number; hours: number }): string[] {
  const booth = script(METERED);
  stay(booth, HOUR_MS, { mode: 1, flame: 0, fan: 0, gas: 0, power: 0 });
  stay(booth, hours * HOUR_MS, { mode: 3, flame: 50, fan: 50 });
  stay(booth, 25 * HOUR_MS - booth.now, { mode: 1, flame: 0, fan: 0, gas, power });
  poll(booth, { mode: 0 });
  const told = valuesOf(fold(booth.entries, METERED, [50]).facts, "i");
  const opened = told.filter(({ check, resolved_at }) => check === "energy_mismatch" && resolved_at === null);
  return opened.map(({ tag_name }) => tag_name);
}

/** 2 h at half load are 10 therm and 3.7 kWh. At full load the fans take 14.914 kWh an hour. */
it.each([
  [{ gas: 31, power: 4, hours: 2 }, []],
  [{ gas: 31.01, power: 4, hours: 2 }, ["gas"]],
  [{ gas: 10, power: 300, hours: 2 }, []],
  [{ gas: 10, power: 400, hours: 2 }, ["power"]],
  [{ gas: 0, power: 0, hours: 0 }, []],
])("the daily comparison of energy meters with estimates, for a day with %j, reports the tags %j", (values, tags) => {
  expect(day(values)).toEqual(tags);
});

it("the daily comparison of energy meters with estimates skips a day of which less than 90 percent was observed", () => {
  const booth = lived(METERED, [HOUR_MS, { mode: 1, flame: 0, fan: 0, gas: 0, power: 0 }], { gap_ms: 4 * HOUR_MS });
  stay(booth, 20 * HOUR_MS, { mode: 1, flame: 0, fan: 0, gas: 50, power: 0 });
  poll(booth, { mode: 0 });
  const told = valuesOf(fold(booth.entries, METERED, [50]).facts, "i").map(({ check }) => check);
  expect(told.filter((check) => check === "energy_mismatch")).toEqual([]);
});

it.each([
  [{ counted: 30, estimated: 9, other: 2, least: 1 }, false],
  [{ counted: 30.01, estimated: 9, other: 2, least: 1 }, true],
  [{ counted: 9, estimated: 28, other: 2, least: 1 }, false],
  [{ counted: 9, estimated: 28.01, other: 2, least: 1 }, true],
])("energyDiffers returns, for %j, the result %s", (energies, is) => {
  expect(energyDiffers(energies)).toBe(is);
});
