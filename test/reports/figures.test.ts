import { expect, test } from "vitest";
import type { Parameters } from "../../src/domain/parameters.ts";
import { cycleCount } from "../../src/reports/cycles.ts";
import { energy } from "../../src/reports/energy.ts";
import { durationByMode, frequencyByMode, runtime, utilization } from "../../src/reports/usage.ts";
import { revisionHistory } from "../../src/reports/findings.ts";
import { summaryOf } from "../../src/reports/summary.ts";
import { history, latestValues } from "../../src/reports/values.ts";
import { fold, poll, put, run, script, type Script, stay, T0 } from "../support/booth.ts";
import { lived } from "../support/lives.ts";
import { PARAMETERS, PLAIN, tag, withFilters } from "../support/parameters.ts";
import { readerOf, sourceOf } from "../support/reader.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/domain/time.ts";

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
  for (const [mode, minutes] of parts) stay(booth, minutes * MINUTE_MS, { mode });
  return booth;
}

test("a standard cycle counts as 79 min in use, one cycle, three starts of spray and two starts of flash", () => {
  const source = sourceOf(standardCycle(PLAIN), PLAIN);
  const window = { start: T0, end: T0 + 2 * HOUR_MS };
  expect(durationByMode(source, window).by_mode).toEqual({
    prep: 8 * MINUTE_MS,
    spray: 34 * MINUTE_MS,
    flash: 12 * MINUTE_MS,
    purge: 3 * MINUTE_MS,
    bake: 30 * MINUTE_MS,
    cool_down: 10 * MINUTE_MS,
    idle: 20 * MINUTE_MS,
  });
  expect(frequencyByMode(source, window).by_mode).toMatchObject({ spray: 3, flash: 2, bake: 1, idle: 1 });
  expect(runtime(source, window).runtime_ms).toBe(89 * MINUTE_MS);
  expect(cycleCount(source, window)).toMatchObject({ cycle_count: 1, source: "derived" });
  expect(utilization(source, window)).toMatchObject({
    in_use_ms: 79 * MINUTE_MS,
    working_ms: 0,
    utilization_pct: null,
  });
});

test("a meter's rise within an hour still counts after the hour becomes final", () => {
  const counter = { step: 0.5, max_rate_per_h: 36_000, retained: true };
  const meters = { gas: tag("gas", "therm", { counter }), kwh: tag("kwh", "kWh", { counter }) };
  const metered = { ...PARAMETERS, tags: { ...PARAMETERS.tags, ...meters } };
  const booth = script(metered);
  stay(booth, 30 * MINUTE_MS, { mode: 1, uptime: 1, gas: 5, kwh: 100, cycles: 7 });
  stay(booth, 90 * MINUTE_MS, { mode: 1, gas: 7.5, kwh: 112, cycles: 8 });
  const folded = fold(booth.entries, metered);
  for (const minutes of [45, 69, 70, 71, 119]) {
    const source = { reader: readerOf(folded), stream: "s", now_ms: T0 + minutes * MINUTE_MS };
    const window = { start: T0, end: T0 + 2 * HOUR_MS };
    expect(energy(source, window), `at ${minutes} min`).toMatchObject({ gas_therm: 2.5, energy_kwh: 12 });
    expect(cycleCount(source, window)).toMatchObject({ cycle_count: 1, source: "plc" });
  }
});

test("the summary of a booth shows mode, cycles and filter limits, and the mode no_data after a silence", () => {
  const parameters = withFilters({ exhaust_filter: { limits: { minutes: 30 } } });
  const booth = lived(parameters, [MINUTE_MS, { mode: 1, cycles: 7 }]);
  put(booth, {
    kind: "f",
    value: { filter: "exhaust_filter", source: "service", installed_at: T0 + MINUTE_MS, flagged: false },
  });
  stay(booth, 15 * MINUTE_MS, { mode: 3 });
  const { state } = run(booth, parameters);
  expect(summaryOf(state, T0 + 16 * MINUTE_MS)).toMatchObject({
    mode: "spray",
    since: T0 + MINUTE_MS,
    raw: "3",
    cycles_today: 0,
    cycles_total: 7,
    run_open: true,
    filters: { exhaust_filter: { limit_minutes: 30, overuse_since: null } },
    in_gap: false,
  });
  const later = summaryOf(state, T0 + HOUR_MS);
  expect(later).toMatchObject({ mode: "no_data", in_gap: true, last_good_at: T0 + 16 * MINUTE_MS - 1 });
});

test("latestValues returns the last good value of a tag, and history returns readings in corrected time", () => {
  const booth = lived(PLAIN, [MINUTE_MS, { mode: 3, other: 5 }], [MINUTE_MS, { other: null }]);
  const source = sourceOf(booth, PLAIN);
  expect(latestValues(source, ["other", "never"])).toEqual([{ tag: "other", value: 5, at: T0, quality: "bad" }]);
  expect(
    [...history(source, { start: T0, end: T0 + HOUR_MS }, ["other"])].map(({ at, value }) => [at - T0, value]),
  ).toEqual([
    [0, 5],
    [MINUTE_MS, null],
  ]);
});

test("revisionHistory does not count the first firmware version as an update", () => {
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
