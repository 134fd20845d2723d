import { describe, expect, it } from "vitest";
import type { Parameters } from "../../src/domain/parameters.ts";
import { fold, forget, poll, put, run, script, silence, stageTexts, stay, T0, valuesOf } from "../support/booth.ts";
import { exhaustFilter, incidentsOf, live, lived } from "../support/lives.ts";
import { minutesTag, PARAMETERS, PLAIN, tag, withFilters } from "../support/parameters.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/domain/time.ts";

it("an hour fact has the exact rise of the gas and energy meters in the hour, without floating-point errors", () => {
  const meter = (step: number) => ({ counter: { step, max_rate_per_h: 100, retained: true }, factor: 0.1 });
  const parameters: Parameters = {
    ...PLAIN,
    tags: { ...PLAIN.tags, gas: tag("gas", "m3", meter(0.1)), power: tag("kwh", "kWh", meter(0.1)) },
  };
  const booth = lived(parameters, [30 * MINUTE_MS, { mode: 3, gas: 5, power: 7 }]);
  for (let turn = 1; turn <= 3; turn += 1)
    stay(booth, 10 * MINUTE_MS - 1000, { gas: 5 + turn * 0.1, power: 7 + turn * 0.2 });
  stay(booth, HOUR_MS, { gas: 6.3, power: 8.6 });
  const hours = valuesOf(run(booth, parameters).facts, "d");
  expect(hours.map(({ gas_therm, energy_kwh }) => [gas_therm, energy_kwh])).toEqual([[0.13, 0.16]]);
});

describe("the incident of another booth's PLC", () => {
  const parameters: Parameters = {
    ...PLAIN,
    tags: { ...PLAIN.tags, serial: tag("plc_serial"), air: tag("air_temperature") },
  };

  it("has severity error, and is resolved only by a reading of the right serial number, not by other good readings", () => {
    const booth = lived(parameters, [MINUTE_MS, { mode: 1 }]);
    put(booth, { kind: "e", value: { event: "identity", detail: "another serial", tag: "serial" } });
    put(booth, { kind: "e", value: { event: "torn", detail: "two halves", tag: "air" } });
    live(booth, [MINUTE_MS, { air: 20 }], [MINUTE_MS, { serial: "ABCD-1" }], [MINUTE_MS, { mode: 0 }]);
    const facts = valuesOf(fold(booth.entries, parameters, [6]).facts, "i");
    const told = facts.map(({ check, severity, resolved_at }) => [
      check,
      severity,
      resolved_at === null ? null : (resolved_at - T0) / MINUTE_MS,
    ]);
    expect(told).toEqual([
      ["identity", "error", null],
      ["torn", "warning", null],
      ["identity", "error", 2],
    ]);
  });
});

describe("new parameters", () => {
  it("leave the open stage unchanged", () => {
    const booth = lived(PLAIN, [10 * MINUTE_MS, { mode: 3 }]);
    put(booth, { kind: "p", value: { ...PLAIN, tz: "America/Denver" } });
    live(booth, [10 * MINUTE_MS], [MINUTE_MS, { mode: 0 }]);
    expect(stageTexts(run(booth, PLAIN).facts)).toEqual([`spray 0-${20 * MINUTE_MS}`]);
  });

  it("do not change the effect of a reading at the same instant", () => {
    const booth = lived(PLAIN, [10 * MINUTE_MS, { mode: 3 }]);
    poll(booth, { mode: 4 });
    put(booth, { kind: "p", value: { ...PLAIN, tz: "America/Denver" } });
    const polled = booth.entries.length - 1;
    booth.now += 1;
    live(booth, [10 * MINUTE_MS], [MINUTE_MS, { mode: 0 }], [MINUTE_MS, { mode: 1 }]);
    // The commit ends after the reading, because parameters come first within a commit.
    expect(stageTexts(fold(booth.entries, PLAIN, [polled, 1, 10, 1000]).facts)).toEqual([
      `spray 0-${10 * MINUTE_MS}`,
      `flash ${10 * MINUTE_MS}-${20 * MINUTE_MS + 1}`,
    ]);
  });

  it("can map the present mode code to another mode from then on", () => {
    const booth = lived(PLAIN, [10 * MINUTE_MS, { mode: 3 }]);
    put(booth, { kind: "p", value: { ...PLAIN, modes: { ...PLAIN.modes, "3": "prep" } } });
    live(booth, [10 * MINUTE_MS], [MINUTE_MS, { mode: 0 }]);
    expect(stageTexts(run(booth, PLAIN).facts)).toEqual([
      `spray 0-${10 * MINUTE_MS}`,
      `prep ${10 * MINUTE_MS}-${20 * MINUTE_MS}`,
    ]);
  });

  it("do not change the mode of a booth that is not being read", () => {
    const booth = lived(PLAIN, [10 * MINUTE_MS, { mode: 3 }]);
    silence(booth, HOUR_MS);
    put(booth, { kind: "p", value: { ...PLAIN, modes: { ...PLAIN.modes, "3": "prep" } } });
    live(booth, { gap_ms: HOUR_MS }, [MINUTE_MS, { mode: 1 }], [MINUTE_MS, { mode: 0 }]);
    const modes = valuesOf(run(booth, PLAIN).facts, "m").map(({ mode }) => mode);
    expect(modes).toEqual(["spray", "no_data", "idle"]);
  });
});

describe("two mode bits that are on for one second", () => {
  const conflicts = (between: (booth: ReturnType<typeof script>) => void): number => {
    const booth = script({ ...PLAIN, modes: { spray: "spray", bake: "bake" } });
    live(booth, [MINUTE_MS, { mode: "spray" }], [1000, { mode: "bake & spray" }]);
    between(booth);
    forget(booth);
    stay(booth, MINUTE_MS, { mode: "bake" });
    return incidentsOf(booth, PLAIN, "mode_conflict").length;
  };

  it("open no incident if a silence follows", () => {
    expect(conflicts((booth) => silence(booth, HOUR_MS))).toBe(0);
  });

  it("open no incident if the clock is then put forward", () => {
    const put_forward = { wall: T0 + HOUR_MS, state: "synced", witness: "service" } as const;
    expect(conflicts((booth) => put(booth, { kind: "t", value: put_forward }))).toBe(0);
  });
});

describe("pressure drops of filters", () => {
  const fitted = { limits: { pressure_pa: 125 }, baseline_pa: 50 };
  const parameters = withFilters(
    { pre_filter: fitted, exhaust_filter: fitted },
    {
      pre: tag("filter_pressure", "Pa", { filter: "pre_filter" }),
      drop: tag("filter_pressure", "Pa", { filter: "exhaust_filter" }),
    },
  );

  it("come from each filter's own sensor, and are medians over time whatever the order of readings", () => {
    const booth = script(parameters);
    for (let turn = 0; turn < 2; turn += 1) {
      live(booth, [3 * MINUTE_MS, { mode: 3, drop: 300, pre: 20 }], [3 * MINUTE_MS, { drop: 100 }]);
      live(booth, [1 * MINUTE_MS, { drop: 200 }], [3 * MINUTE_MS, { drop: 180 }], [2 * MINUTE_MS, { mode: 4 }]);
    }
    stay(booth, 5 * MINUTE_MS, { mode: 1 });
    const { filters } = run(booth, parameters).state;
    expect(filters.exhaust_filter?.current.pressure.drops.map(({ pascal }) => pascal)).toEqual([180, 180]);
    expect(filters.pre_filter?.current.pressure.drops.map(({ pascal }) => pascal)).toEqual([20, 20]);
    expect([filters.exhaust_filter?.current.overuse.length, filters.pre_filter?.current.overuse.length]).toEqual([
      1, 0,
    ]);
  });
});

describe("falling counters", () => {
  const COUNTED = withFilters(
    { exhaust_filter: { limits: { minutes: 100 } }, pre_filter: { limits: { minutes: 100 } } },
    {
      exhaust: minutesTag("exhaust_filter"),
      pre: minutesTag("pre_filter"),
      button: tag("filter_reset", "", { filter: "exhaust_filter" }),
    },
  );

  it("count as two filter changes, not as a loss of PLC memory, if one of the reset buttons is pressed", () => {
    const booth = lived(COUNTED, [10 * MINUTE_MS, { mode: 3, exhaust: 60, pre: 60, button: false }]);
    live(booth, [10 * MINUTE_MS, { exhaust: 0, pre: 0, button: true }], [5 * MINUTE_MS, { mode: 1 }]);
    const { facts } = run(booth, COUNTED);
    const resets = valuesOf(facts, "f").filter(({ source }) => source === "plc_reset");
    expect(resets.map(({ filter }) => filter).sort()).toEqual(["exhaust_filter", "pre_filter"]);
    expect(valuesOf(facts, "i").map(({ check }) => check)).toEqual([]);
  });

  it("are required for a loss of PLC memory: a PLC restart alone is none", () => {
    const booth = lived(PARAMETERS, [10 * MINUTE_MS, { mode: 3, uptime: 1000, cycles: 5 }]);
    live(booth, [10 * MINUTE_MS, { uptime: 5 }], [MINUTE_MS, { mode: 0 }]);
    expect(valuesOf(run(booth, PARAMETERS).facts, "i").filter(({ check }) => check === "memory_loss")).toEqual([]);
  });
});

describe("the PLC's counters", () => {
  it("assign cycles to the hour in which the counter shows them", () => {
    const booth = lived(PARAMETERS, [30 * MINUTE_MS, { mode: 3, cycles: 5 }], [HOUR_MS, { cycles: 7 }]);
    live(booth, [2 * HOUR_MS, { cycles: 8 }], [MINUTE_MS, { mode: 0 }]);
    expect(valuesOf(run(booth, PARAMETERS).facts, "d").map(({ cycles }) => cycles)).toEqual([2, 1, 0]);
  });

  it.each([
    [8, 0],
    [5, 0],
    [400, 1],
  ])("open, after a change from 5 to %i cycles in an hour, %i incident(s) of the check monotonic", (cycles, count) => {
    const booth = lived(PARAMETERS, [30 * MINUTE_MS, { mode: 3, cycles: 5 }]);
    forget(booth);
    live(booth, [HOUR_MS, { mode: 3, cycles }], [MINUTE_MS, { mode: 0 }]);
    const found = valuesOf(run(booth, PARAMETERS).facts, "i").filter(({ check }) => check === "monotonic");
    expect(found.filter(({ resolved_at }) => resolved_at === null)).toHaveLength(count);
  });

  it.each([
    ["h", 1, 1.5, 90],
    ["h", 0.1, 15, 90],
    ["min", 1, 90, 90],
    ["s", 1, 5400, 90],
  ])("a filter meter in %s with factor %f and the reading %f counts %f min", (...[unit, factor, value, minutes]) => {
    const counter = { step: 0.1, retained: true };
    const parameters = withFilters(
      { exhaust_filter: { limits: { minutes: 1000 } } },
      { used: tag("filter_minutes", unit, { filter: "exhaust_filter", factor, counter }) },
    );
    const booth = lived(parameters, [MINUTE_MS, { mode: 1, used: value }], [MINUTE_MS, { mode: 0 }]);
    expect(exhaustFilter(booth, parameters)?.current.plc?.value).toBeCloseTo(minutes, 9);
  });
});

describe("the history of report rules", () => {
  it("has the instant of each change, and only the last of several changes at one instant", () => {
    const booth = lived(PLAIN, [HOUR_MS, { mode: 1 }]);
    put(booth, { kind: "p", value: { ...PLAIN, bay_count: 2 } });
    stay(booth, HOUR_MS);
    for (const tz of ["Europe/Berlin", "America/Denver"]) put(booth, { kind: "p", value: { ...PLAIN, tz } });
    stay(booth, HOUR_MS);
    const rules = run(booth, PLAIN).state.rules ?? [];
    expect(rules.map(({ from, tz }) => [(from - T0) / HOUR_MS, tz]).slice(1)).toEqual([[2, "America/Denver"]]);
  });

  it.each([
    [63, 64],
    [64, 64],
    [65, 64],
  ])("is limited to the last changes (%i changes made, %i rules kept)", (changes, kept) => {
    const booth = lived(PLAIN, [MINUTE_MS, { mode: 1 }]);
    for (let change = 0; change < changes; change += 1) {
      put(booth, { kind: "p", value: { ...PLAIN, tz: change % 2 === 0 ? "Europe/Berlin" : "UTC" } });
      stay(booth, MINUTE_MS);
    }
    expect(run(booth, PLAIN).state.rules).toHaveLength(kept);
  });
});
