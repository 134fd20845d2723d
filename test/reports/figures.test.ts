import { expect, test } from "vitest";
import type { Parameters } from "../../src/domain/parameters.ts";
import { cycleCount } from "../../src/reports/cycles.ts";
import { energy } from "../../src/reports/energy.ts";
import { filterMaintenanceHistory, filterMaintenances, overuse } from "../../src/reports/filters.ts";
import { durationByMode, frequencyByMode, runtime, utilization } from "../../src/reports/usage.ts";
import { revisionHistory } from "../../src/reports/findings.ts";
import type { Source } from "../../src/reports/source.ts";
import { summaryOf } from "../../src/reports/summary.ts";
import { history, latestValues } from "../../src/reports/values.ts";
import { fold, forget, poll, put, run, script, silence, stay, T0, type Script } from "../support/booth.ts";
import { PARAMETERS, PLAIN, tag, uncounted, withFilters } from "../support/parameters.ts";
import { readerOf } from "../support/reader.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

function sourceOf(booth: Script, parameters: Parameters, now = booth.now): Source {
  return { reader: readerOf(run(booth, parameters)), stream: "s", now_ms: T0 + now };
}

function standardCycle(parameters: Parameters): Script {
  const booth = script(parameters);
  const parts = [
    [2, 8],
    [3, 12],
    [4, 6],
    [3, 12],
    [4, 6],
    [3, 10],
    [5, 3],
    [6, 30],
    [8, 10],
    [1, 20],
  ] as const;
  for (const [mode, minutes] of parts) stay(booth, minutes * MINUTE, { mode });
  return booth;
}

test("the standard cycle: 79 min in use, one cycle, each stage once", () => {
  const source = sourceOf(standardCycle(PLAIN), PLAIN);
  const window = { start: T0, end: T0 + 2 * HOUR };
  expect(durationByMode(source, window).by_mode).toEqual({
    prep: 8 * MINUTE,
    spray: 34 * MINUTE,
    flash: 12 * MINUTE,
    purge: 3 * MINUTE,
    bake: 30 * MINUTE,
    cool_down: 10 * MINUTE,
    idle: 20 * MINUTE,
  });
  expect(frequencyByMode(source, window).by_mode).toMatchObject({ spray: 3, flash: 2, bake: 1, idle: 1 });
  expect(runtime(source, window).runtime_ms).toBe(89 * MINUTE);
  expect(cycleCount(source, window)).toMatchObject({ cycle_count: 1, source: "derived" });
  expect(utilization(source, window)).toMatchObject({ in_use_ms: 79 * MINUTE, working_ms: 0, utilization_pct: null });
});

test("a meter's hour stays counted when it has become final though nothing has changed since", () => {
  const counter = { step: 0.5, max_rate_per_h: 36_000, retained: true };
  const meters = { gas: tag("gas", "therm", { counter }), kwh: tag("kwh", "kWh", { counter }) };
  const metered = { ...PARAMETERS, tags: { ...PARAMETERS.tags, ...meters } };
  const booth = script(metered);
  stay(booth, 30 * MINUTE, { mode: 1, uptime: 1, gas: 5, kwh: 100, cycles: 7 });
  stay(booth, 90 * MINUTE, { mode: 1, gas: 7.5, kwh: 112, cycles: 8 });
  const folded = fold(booth.entries, metered);
  for (const minutes of [45, 69, 70, 71, 119]) {
    const source = { reader: readerOf(folded), stream: "s", now_ms: T0 + minutes * MINUTE };
    const window = { start: T0, end: T0 + 2 * HOUR };
    expect(energy(source, window), `at ${minutes.toString()} min`).toMatchObject({ gas_therm: 2.5, energy_kwh: 12 });
    expect(cycleCount(source, window)).toMatchObject({ cycle_count: 1, source: "plc" });
  }
});

test("time in use within working hours, and overtime apart", () => {
  const shift = { day: "monday", enabled: true, start: "00:20:00", stop: "01:20:00" } as const;
  const parameters = { ...PLAIN, working_hours: [shift] };
  const figures = utilization(sourceOf(standardCycle(parameters), parameters), { start: T0, end: T0 + 2 * HOUR });
  expect(figures).toMatchObject({
    working_ms: HOUR,
    in_use_working_ms: HOUR,
    overtime_ms: 19 * MINUTE,
    utilization_pct: 100,
  });
});

test("an open stage counts up to the last good reading + bridge, then there is no data", () => {
  const booth = script(PLAIN);
  stay(booth, 10 * MINUTE, { mode: 3 });
  const source = sourceOf(booth, PLAIN, HOUR);
  expect(durationByMode(source, { start: T0 - HOUR, end: T0 + 2 * HOUR })).toEqual({
    by_mode: { no_data: HOUR + 50 * MINUTE - 14_999, spray: 10 * MINUTE + 14_999 },
    coverage: { observed_ms: 10 * MINUTE + 14_999, inferred_ms: 0, missing_ms: HOUR + 50 * MINUTE - 14_999 },
  });
});

test("the PLC's counter is the figure where there is one, those of a gap included", () => {
  const booth = script(PARAMETERS);
  stay(booth, HOUR, { mode: 1, cycles: 10, meter: 0 });
  stay(booth, HOUR, { cycles: 11 });
  silence(booth, 2 * HOUR);
  forget(booth);
  stay(booth, HOUR, { mode: 1, cycles: 14, meter: 0 });
  const source = sourceOf(booth, PARAMETERS);
  expect(cycleCount(source, { start: T0, end: T0 + 5 * HOUR })).toMatchObject({
    cycle_count: 4,
    source: "plc",
    derived: 0,
  });
  expect(cycleCount(source, { start: T0 + 90 * MINUTE, end: T0 + 5 * HOUR }).cycle_count).toBe(3);
});

test("overuse is the union over filters", () => {
  const parameters = uncounted(
    withFilters({
      exhaust_filter: { limits: { minutes: 30 } },
      pre_filter: { limits: { minutes: 60 } },
    }),
  );
  const booth = script(parameters);
  for (const filter of ["exhaust_filter", "pre_filter"] as const) {
    put(booth, { kind: "f", value: { filter, source: "technician", installed_at: T0, flagged: false } });
  }
  stay(booth, 90 * MINUTE, { mode: 3 });
  const exhaust = {
    filter: "exhaust_filter",
    source: "technician",
    installed_at: T0 + booth.now,
    flagged: false,
  } as const;
  put(booth, { kind: "f", value: exhaust });
  stay(booth, 10 * MINUTE, { mode: 1 });
  const source = sourceOf(booth, parameters);
  const window = { start: T0, end: T0 + 3 * HOUR };
  expect(overuse(source, window)).toMatchObject({ overuse_ms: HOUR, overuse_count: 2, overuse_cycles: 1 });
  const [record] = filterMaintenanceHistory(source, window).slice(-1);
  expect(record).toMatchObject({ filter_type: "exhaust_filter", booth_overuse_ms: HOUR, service: "late" });
  expect(filterMaintenances(source, window).map(({ type, removed_at }) => [type, removed_at === null])).toContainEqual([
    "exhaust_filter",
    false,
  ]);
});

test("a booth in a line", () => {
  const parameters = withFilters({ exhaust_filter: { limits: { minutes: 30 } } });
  const booth = script(parameters);
  stay(booth, MINUTE, { mode: 1, cycles: 7 });
  put(booth, {
    kind: "f",
    value: { filter: "exhaust_filter", source: "service", installed_at: T0 + MINUTE, flagged: false },
  });
  stay(booth, 15 * MINUTE, { mode: 3 });
  const { state } = run(booth, parameters);
  expect(summaryOf(state, T0 + 16 * MINUTE)).toMatchObject({
    mode: "spray",
    since: T0 + MINUTE,
    raw: "3",
    cycles_today: 0,
    cycles_total: 7,
    run_open: true,
    filters: { exhaust_filter: { limit_minutes: 30, overuse_since: null } },
    in_gap: false,
  });
  const later = summaryOf(state, T0 + HOUR);
  expect(later).toMatchObject({ mode: "no_data", in_gap: true, last_good_at: T0 + 16 * MINUTE - 1 });
});

test("latest values keep the last good one; history gives readings at corrected time", () => {
  const booth = script(PLAIN);
  stay(booth, MINUTE, { mode: 3, other: 5 });
  stay(booth, MINUTE, { other: null });
  const source = sourceOf(booth, PLAIN);
  expect(latestValues(source, ["other", "never"])).toEqual([{ tag: "other", value: 5, at: T0, quality: "bad" }]);
  expect(
    [...history(source, { start: T0, end: T0 + HOUR }, ["other"])].map(({ at, value }) => [at - T0, value]),
  ).toEqual([
    [0, 5],
    [MINUTE, null],
  ]);
});

test("versions: the first is not an update", () => {
  const booth = script(PARAMETERS);
  for (const firmware of ["1.0", "1.1"]) {
    for (let turn = 0; turn < 8; turn += 1) {
      poll(booth, { firmware }, "slow");
      booth.now += 10_000;
    }
  }
  poll(booth, {}, "slow");
  const { firmware_versions, last_firmware_update, last_program_update } = revisionHistory(sourceOf(booth, PARAMETERS));
  expect(firmware_versions.map(({ firmware_version }) => firmware_version)).toEqual(["1.0", "1.1"]);
  expect([last_firmware_update, last_program_update]).toEqual([T0 + 80_000, null]);
});
