import { expect, it } from "vitest";
import type { Scenario } from "../../simulators/plc/model/scenario.ts";
import { busyDay } from "../../simulators/plc/scenarios/busy-day.ts";
import { energy } from "../../src/reports/energy.ts";
import { filterMaintenanceHistory } from "../../src/reports/filters.ts";
import { revisionHistory } from "../../src/reports/findings.ts";
import { recordFault } from "../support/faults.ts";
import { play, type Played } from "./play.ts";

/** Mon 2026-03-02 08:00 in Denver, and 07:40 before the working day. */
const MORNING = Date.UTC(2026, 2, 2, 15);
const BEFORE_WORK = Date.UTC(2026, 2, 2, 14, 40);
/** Tolerances: meters count 0.01 therm and 0.1 kWh, are read every 10 s, and a cut hour is split by time. */
const GAS_THERM = 0.05;
const ENERGY_KWH = 0.3;
/** Counters and versions do not need a poll each second. */
const BOOTH = { poll: { fast: { poll_interval_ms: 5_000 } } };
/** Versions are read with the slow group. */
const SLOW_POLL_MS = 10_000;

/** Returns how many of the PLC's counters count too much or too little. */
function miscounted({ source, window, truth, figures }: Played): { doubled: number; lost: number } {
  const { gas_therm, energy_kwh } = energy(source, window);
  const off = [
    figures.cycle_count - truth.cycle_increments,
    Math.trunc(((gas_therm ?? NaN) - truth.gas_therm) / GAS_THERM),
    Math.trunc(((energy_kwh ?? NaN) - truth.energy_kwh) / ENERGY_KWH),
  ];
  return { doubled: off.filter((by) => by > 0).length, lost: off.filter((by) => by < 0).length };
}

it.each([
  // Cycles pass 2^32 and gas carries into its high word; energy passes 2^32 as well.
  { scenario: "counter-wrap", start: BEFORE_WORK, hours: 11, injected: 3 },
  { scenario: "power-cycle-lost", start: MORNING, hours: 4.5, injected: 8, incidents: ["memory_loss "] },
  { scenario: "filter-change", start: BEFORE_WORK, hours: 11, injected: 2 },
])(
  "in the scenario $scenario, totals stay right when PLC counters wrap or are reset",
  async ({ injected, ...options }) => {
    const played = await play({ ...options, booth: BOOTH });
    const { doubled, lost } = miscounted(played);
    const changes = filterMaintenanceHistory(played.source, played.window);
    const wrong = Math.abs(changes.length - (options.scenario === "filter-change" ? 1 : 0));
    const passed = doubled === 0 && lost === 0 && wrong === 0;
    recordFault({
      row: 19,
      fault: `counters reset or wrap: ${options.scenario}`,
      injected,
      lost,
      doubled,
      wrong,
      passed,
    });
    expect({ doubled, lost, wrong }).toEqual({ doubled: 0, lost: 0, wrong: 0 });
    played.close();
  },
);

it("a PLC program update creates one history entry with the time of its first reading", async () => {
  const played = await play({ scenario: "program-update", start: BEFORE_WORK, hours: 11, booth: BOOTH });
  const { truth, source } = played;
  const { program_versions, last_program_update, last_firmware_update } = revisionHistory(source);
  const [update] = truth.revisions.filter(({ initial }) => !initial);
  const late = (last_program_update ?? NaN) - (update?.at ?? NaN);
  const versions = program_versions.map(({ plc_program_revision }) => plc_program_revision);
  const passed = versions.join() === "14C,14D" && late >= 0 && late <= 7_500 && last_firmware_update === null;
  const count = { injected: 1, lost: Math.max(0, 2 - versions.length), doubled: Math.max(0, versions.length - 2) };
  recordFault({ row: 20, fault: "program changed: 14C to 14D", ...count, wrong: passed ? 0 : 1, passed });
  expect(versions).toEqual(["14C", "14D"]);
  expect(late).toBeGreaterThanOrEqual(0);
  expect(late).toBeLessThanOrEqual(7_500);
  expect(last_firmware_update).toBeNull();
  played.close();
});

/** The firmware is updated at noon and reverted in the afternoon: two more entries, the second with the old version. */
const FIRMWARE: Scenario = {
  ...busyDay,
  name: "firmware-update",
  on_day: {
    0: [
      { at: "11:55", steps: [{ kind: "identity", identity: { firmware_version: "3.42" } }] },
      { at: "15:10", steps: [{ kind: "identity", identity: { firmware_version: "3.41" } }] },
    ],
  },
};

it("a PLC firmware update and its rollback each create one history entry with the time of the first reading", async () => {
  const played = await play({ scenario: FIRMWARE, start: BEFORE_WORK, hours: 11, booth: BOOTH });
  const { truth, source } = played;
  const { firmware_versions, program_versions } = revisionHistory(source);
  const versions = firmware_versions.map(({ firmware_version }) => firmware_version);
  const changes = truth.revisions.filter(({ initial }) => !initial);
  const late = changes.map(({ at }, index) => (firmware_versions[index + 1]?.first_seen_at ?? NaN) - at);
  const isDated = late.every((ms) => ms >= 0 && ms <= SLOW_POLL_MS);
  const passed = versions.join() === "3.41,3.42,3.41" && isDated && program_versions.length === 1;
  const count = { injected: 2, lost: Math.max(0, 3 - versions.length), doubled: Math.max(0, versions.length - 3) };
  recordFault({ row: 20, fault: "firmware changed and put back", ...count, wrong: passed ? 0 : 1, passed });
  expect(versions).toEqual(["3.41", "3.42", "3.41"]);
  expect(late).toHaveLength(2);
  expect(isDated).toBe(true);
  expect(program_versions).toHaveLength(1);
  played.close();
});
