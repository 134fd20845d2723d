import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Booth, createBooth } from "../../../simulators/plc/model/booth.ts";
import { coast } from "../../../simulators/plc/model/physics.ts";
import { SCENARIOS } from "../../../simulators/plc/scenarios/all.ts";
import type { Scenario } from "../../../simulators/plc/model/scenario.ts";
import { HOUR_MS } from "../../../src/domain/time.ts";

const START = Date.UTC(2026, 2, 3, 7);
const SPAN = 5 * 24 * HOUR_MS;

const anyScenario = fc.constantFrom(...SCENARIOS);
const anySeed = fc.integer({ min: 0, max: 2 ** 31 });
const anyInstant = fc.integer({ min: START - HOUR_MS, max: START + SPAN });
const make = (scenario: Scenario, seed: number): Booth => createBooth({ scenario, seed, start: START });
const total = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

describe("the simulated booth", () => {
  it("has the same state at an instant, whatever instants were computed before", () => {
    fc.assert(
      fc.property(
        anyScenario,
        anySeed,
        fc.array(anyInstant, { minLength: 1, maxLength: 20 }),
        (scenario, seed, asked) => {
          const stepped = make(scenario, seed);
          const answers = asked.map((at) => stepped.stateAt(at));
          const jumped = asked.map((at) => make(scenario, seed).stateAt(at));
          expect(answers).toEqual(jumped);
        },
      ),
      { numRuns: 100 },
    );
  });

  it("has the same state after many small steps as after one large step, apart from rounding", () => {
    fc.assert(
      fc.property(anyScenario, anyInstant, fc.integer({ min: 2, max: 50 }), (scenario, at, steps) => {
        const booth = make(scenario, 1);
        const entry = booth.stateAt(at);
        const end = Math.min(booth.nextChange(at), at + HOUR_MS);
        let walked = entry;
        for (let i = 1; i <= steps; i++) walked = coast(walked, at + Math.floor(((end - at) * i) / steps), booth.rules);
        const jumped = coast(entry, end, booth.rules);
        expect(walked.totals.run_ms).toBe(jumped.totals.run_ms);
        expect(walked.totals.gas_therm).toBeCloseTo(jumped.totals.gas_therm, 9);
        expect(walked.air_c).toBeCloseTo(jumped.air_c, 9);
        expect(walked.metal_c).toBeCloseTo(jumped.metal_c, 9);
      }),
    );
  });

  it("divides every time window completely into stages, and the figures of adjacent windows add up", () => {
    fc.assert(
      fc.property(
        anyScenario,
        anySeed,
        fc.array(anyInstant, { minLength: 3, maxLength: 3 }),
        (scenario, seed, cuts) => {
          const booth = make(scenario, seed);
          const [a = 0, b = 0, c = 0] = cuts.toSorted((x, y) => x - y);
          const left = booth.truth(a, b);
          const right = booth.truth(b, c);
          const whole = booth.truth(a, c);
          for (const truth of [left, right, whole]) {
            expect(total(Object.values(truth.ms_by_mode))).toBe(truth.to - truth.from);
            truth.stages.forEach((stage, i) => expect(stage.start).toBe(truth.stages[i - 1]?.end ?? truth.from));
            const inSet = (set: readonly string[]): number =>
              total(truth.stages.filter((s) => set.includes(s.mode)).map((s) => s.end - s.start));
            expect(truth.in_use_ms).toBe(inSet(booth.rules.mode_sets.in_use));
            expect(truth.run_ms).toBe(inSet(booth.rules.mode_sets.run));
          }
          expect(left.cycle_count + right.cycle_count).toBe(whole.cycle_count);
          expect(left.in_use_ms + right.in_use_ms).toBe(whole.in_use_ms);
          expect(left.overuse.ms + right.overuse.ms).toBe(whole.overuse.ms);
        },
      ),
      { numRuns: 100 },
    );
  });

  it("never decreases a total, and decreases a counter only in a power cycle that loses the counter", () => {
    fc.assert(
      fc.property(anyScenario, anySeed, fc.tuple(anyInstant, anyInstant), (...[scenario, seed, [x, y]]) => {
        const booth = make(scenario, seed);
        const before = booth.stateAt(Math.min(x, y));
        const after = booth.stateAt(Math.max(x, y));
        for (const key of ["run_ms", "in_use_ms", "gas_therm", "energy_kwh", "cycles", "motor_starts"] as const) {
          expect(after.totals[key]).toBeGreaterThanOrEqual(before.totals[key]);
          if (scenario.name !== "power-cycle-lost") expect(after.offsets[key]).toBe(before.offsets[key]);
        }
      }),
      { numRuns: 100 },
    );
  });

  it("changes modes at arbitrary milliseconds, not only on full seconds", () => {
    const { stages } = make(SCENARIOS[3] as Scenario, 5).truth(START, START + 24 * HOUR_MS);
    const onSecond = stages.filter((stage) => stage.start % 1000 === 0);
    expect(stages.length).toBeGreaterThan(40);
    expect(onSecond.length).toBeLessThan(5);
  });

  it("returns the exact instant of the next change", () => {
    const booth = make(SCENARIOS[0] as Scenario, 9);
    let at = booth.origin;
    for (let next = booth.nextChange(at); next < Infinity; next = booth.nextChange(at)) {
      expect(booth.entries(at, next - 1)).toEqual([]);
      expect(booth.entries(at, next).length).toBeGreaterThan(0);
      at = next;
    }
    expect(booth.stateAt(at).mode).toBe("off");
  });

  it("recomputes an already computed part of its story if a button is pressed in that part", () => {
    const booth = make(SCENARIOS[3] as Scenario, 5);
    const before = booth.truth(START, START + 48 * HOUR_MS);
    booth.press("exhaust_filter", START + 12 * HOUR_MS);
    const after = booth.truth(START, START + 48 * HOUR_MS);
    expect(after.stages).toEqual(before.stages);
    expect(after.cycles).toEqual(before.cycles);
    expect(after.filters.exhaust_filter).toHaveLength(2);
    expect(booth.stateAt(START + 12 * HOUR_MS).filters.exhaust_filter?.installed_at).toBe(START + 12 * HOUR_MS);
  });
});
