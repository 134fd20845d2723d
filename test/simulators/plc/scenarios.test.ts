import { describe, expect, it } from "vitest";
import { type Booth, createBooth } from "../../../simulators/plc/model/booth.ts";
import { instantOf } from "../../../simulators/plc/model/local-time.ts";
import { findScenario } from "../../../simulators/plc/scenarios/all.ts";
import type { Truth } from "../../../simulators/plc/model/truth.ts";
import { MINUTE_MS, HOUR_MS, DAY_MS } from "../../../src/domain/time.ts";

/** Tuesday, midnight in Denver. */
const MIDNIGHT = instantOf("America/Denver", { year: 2026, month: 3, day: 3 }, "00:00");

function booth(name: string, seed = 7, start = MIDNIGHT): Booth {
  const scenario = findScenario(name);
  if (!scenario) throw new Error(name);
  return createBooth({ scenario, seed, start });
}
const results = (truth: Truth): readonly string[] =>
  truth.cycles.map(({ result, reason }) => (reason ? `${result}(${reason})` : result));

describe("the scenario standard-cycle", () => {
  it("takes 97 min with 79 min in use, and consumes about 4.6 therm of gas and 21 kWh", () => {
    for (const seed of [1, 2, 3]) {
      const b = booth("standard cycle", seed);
      const all = b.truth(MIDNIGHT, MIDNIGHT + DAY_MS);
      const prep = all.stages.find((stage) => stage.mode === "prep");
      const coolDown = all.stages.find((stage) => stage.mode === "cool_down");
      const from = prep?.start ?? 0;
      const to = coolDown?.end ?? 0;
      expect(to - from).toBe(97 * MINUTE_MS);
      const cycle = b.truth(from, to);
      expect(cycle.in_use_ms).toBe(79 * MINUTE_MS);
      expect(cycle.gas_therm / 4.6).toBeGreaterThan(0.85);
      expect(cycle.gas_therm / 4.6).toBeLessThan(1.15);
      expect(cycle.energy_kwh / 21).toBeGreaterThan(0.85);
      expect(cycle.energy_kwh / 21).toBeLessThan(1.15);
      expect(results(cycle)).toEqual(["complete"]);
      expect(cycle.cycles[0]).toMatchObject({ counted: true, end: coolDown?.start });
      expect(Math.abs((cycle.cycles[0]?.bake_ms ?? 0) - 30 * MINUTE_MS)).toBeLessThanOrEqual(10_000);
      const endOfBake = b.stateAt(cycle.cycles[0]?.end ?? 0);
      expect(endOfBake.air_c).toBeGreaterThan(69);
      expect(endOfBake.metal_c).toBeGreaterThan(57);
      expect(endOfBake.metal_c).toBeLessThan(65);
    }
  });
});

describe("the scenario busy-day", () => {
  it("has 395 of 570 working minutes in use and five cycles on every day", () => {
    const b = booth("busy day");
    for (let day = 0; day < 4; day++) {
      const opens = MIDNIGHT + day * DAY_MS + 8 * HOUR_MS;
      const truth = b.truth(opens, opens + 570 * MINUTE_MS);
      expect(truth.in_use_ms).toBe(395 * MINUTE_MS);
      expect(truth.cycle_count).toBe(5);
      expect(truth.ms_by_mode.setback).toBeGreaterThan(40 * MINUTE_MS);
      expect(b.truth(opens + 570 * MINUTE_MS, opens + DAY_MS).in_use_ms).toBe(0);
    }
  });

  it("has no late filter change in a year", () => {
    const truth = booth("busy day").truth(MIDNIGHT, MIDNIGHT + 365 * DAY_MS);
    expect(truth.overuse).toEqual({ ms: 0, cycles: 0, episodes: 0 });
    expect(truth.filters.exhaust_filter?.length).toBeGreaterThan(23);
    expect(truth.filters.intake_filter?.length).toBe(3);
  });

  it("has 200 times the daily use and cycles after 200 days", () => {
    const truth = booth("busy day").truth(MIDNIGHT, MIDNIGHT + 200 * DAY_MS);
    expect(truth.in_use_ms).toBe(200 * 395 * MINUTE_MS);
    expect(truth.cycle_increments).toBe(1000);
  });
});

describe("PLC simulator scenarios", () => {
  it("in short-bakes, only the third cycle is complete, although the second bakes for more than 7 min in total", () => {
    const truth = booth("short-bakes").truth(MIDNIGHT, MIDNIGHT + DAY_MS);
    expect(results(truth)).toEqual(["short_bake", "short_bake", "complete"]);
    expect(truth.cycles[1]?.bake_ms).toBeGreaterThan(7 * MINUTE_MS);
    expect(truth.cycle_increments).toBe(1);
  });

  it("in filter-overdue, the 5 h in which two filters are both overdue count only once", () => {
    const truth = booth("filter-overdue").truth(MIDNIGHT, MIDNIGHT + 4 * DAY_MS);
    const [exhaust] = truth.filters.exhaust_filter ?? [];
    const [pre] = truth.filters.pre_filter ?? [];
    expect(exhaust?.minutes).toBe(6720);
    expect(exhaust?.overuse_ms).toBe(12 * HOUR_MS);
    expect(pre?.overuse_ms).toBe(537 * MINUTE_MS);
    expect(truth.overuse.ms).toBe((720 + 537 - 300) * MINUTE_MS);
    expect(truth.overuse.episodes).toBe(2);
    expect(truth.overuse.cycles).toBe(13);
    expect(exhaust?.overuse_cycles).toBe(10);
  });

  it("in filter-change, two button presses within 10 min count as one filter change, which is on time", () => {
    const b = booth("filter-change");
    const truth = b.truth(MIDNIGHT, MIDNIGHT + DAY_MS);
    expect(truth.filters.exhaust_filter).toHaveLength(2);
    const [old, fresh] = truth.filters.exhaust_filter ?? [];
    expect(old?.overuse_since).toBeNull();
    expect(old?.minutes).toBe(5000 + 2 * 79);
    expect(fresh?.installed_at).toBe(old?.removed);
    expect(fresh?.minutes).toBe(3 * 79);
  });

  it("in flame-lockout, estop and fire-contact, the event aborts or ends the cycle, and the next bake starts no cycle", () => {
    expect(results(booth("flame-lockout").truth(MIDNIGHT, MIDNIGHT + DAY_MS))).toEqual(["aborted(fault)", "complete"]);
    expect(results(booth("estop").truth(MIDNIGHT, MIDNIGHT + DAY_MS))).toEqual(["aborted(estop)", "complete"]);
    const fire = results(booth("fire-contact").truth(MIDNIGHT, MIDNIGHT + DAY_MS));
    expect(fire).toEqual(["complete", "aborted(short)", "complete"]);
  });

  it("in power-cycle and power-cycle-lost, counters are retained or lost, and the filter's real use continues", () => {
    for (const [name, lost] of [
      ["power-cycle", false],
      ["power-cycle-lost", true],
    ] as const) {
      const b = booth(name);
      const truth = b.truth(MIDNIGHT, MIDNIGHT + DAY_MS);
      expect(results(truth)).toEqual(["aborted(plc_restart)", "complete"]);
      expect(truth.ms_by_mode.no_data).toBe(4 * MINUTE_MS);
      const [outage] = truth.outages;
      expect(outage?.cause).toBe("power");
      const back = b.stateAt(outage?.end ?? 0);
      expect(back.booted_at).toBe(outage?.end);
      expect(back.totals.run_ms + back.offsets.run_ms === 0).toBe(lost);
      expect(back.totals.cycles + back.offsets.cycles === 0).toBe(lost);
      const exhaust = back.filters.exhaust_filter;
      expect(back.totals.in_use_ms - (exhaust?.in_use0_ms ?? 0)).toBeGreaterThan(2600 * MINUTE_MS);
      expect(back.totals.in_use_ms - (exhaust?.counter0_ms ?? 0) === 0).toBe(lost);
    }
  });

  it("in program-update, the PLC shows a new program revision after 90 s without power", () => {
    const truth = booth("program-update").truth(MIDNIGHT, MIDNIGHT + DAY_MS);
    expect(truth.ms_by_mode.no_data).toBe(90_000);
    const [, update] = truth.revisions;
    expect(truth.revisions.map((r) => [r.plc_program_revision, r.initial])).toEqual([
      ["14C", true],
      ["14D", false],
    ]);
    expect(update?.at).toBe(truth.outages[0]?.end);
    expect(truth.cycle_count).toBe(5);
  });

  it("in night-shift, the time in use is right in both nights of a daylight-saving change", () => {
    for (const [month, day] of [
      [3, 7],
      [10, 31],
    ] as const) {
      const start = instantOf("America/Denver", { year: 2026, month, day }, "12:00");
      const truth = booth("night-shift", 7, start).truth(start, start + DAY_MS);
      expect(truth.cycle_count).toBe(4);
      expect(truth.in_use_ms).toBe(4 * 79 * MINUTE_MS);
    }
  });

  it("in summer, a day uses less than half the gas of a winter day in busy-day", () => {
    const gas = (name: string): number => booth(name).truth(MIDNIGHT, MIDNIGHT + DAY_MS).gas_therm;
    expect(gas("summer")).toBeCloseTo(5 * (8 / 6 + (1.9 * 20) / 60), 1);
    expect(gas("summer")).toBeLessThan(gas("busy day") / 2);
  });

  it("in waterborne, the flash phase takes more than 35 min", () => {
    const truth = booth("waterborne").truth(MIDNIGHT, MIDNIGHT + DAY_MS);
    expect(truth.ms_by_mode.flash).toBeGreaterThan(35 * MINUTE_MS);
    expect(truth.cycle_count).toBe(1);
  });
});
