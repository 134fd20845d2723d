import { describe, expect, it } from "vitest";
import { cycleCount } from "../../src/reports/cycles.ts";
import { energy } from "../../src/reports/energy.ts";
import { usePeriods } from "../../src/reports/periods.ts";
import type { Source } from "../../src/reports/source.ts";
import { durationByMode, utilization } from "../../src/reports/usage.ts";
import { script, silence, stay, T0 } from "../support/booth.ts";
import { PARAMETERS, tag } from "../support/parameters.ts";
import { sourceOf } from "../support/reader.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../src/domain/time.ts";

const METER = { step: 0.5, max_rate_per_h: 36_000, retained: true };
const METERED = { ...PARAMETERS, tags: { ...PARAMETERS.tags, kwh: tag("kwh", "kWh", { counter: METER }) } };

/** Three days of cycles with a silence of three hours. */
function days(): Source {
  const booth = script(METERED);
  let cycles = 10;
  let meter = 1000;
  let kwh = 50;
  for (let turn = 0; turn < 12; turn += 1) {
    stay(booth, 40 * MINUTE_MS, { mode: 3, meter: (meter += 3), kwh: (kwh += 4) });
    stay(booth, 60 * MINUTE_MS, { mode: 6, cycles: ++cycles, meter: (meter += 5), kwh: (kwh += 2.5) });
    if (turn === 6) silence(booth, 3 * HOUR_MS);
    stay(booth, 4 * HOUR_MS, { mode: 1 });
  }
  return sourceOf(booth, METERED);
}

describe("the figures of a report window by period", () => {
  const source = days();
  const window = { start: T0 + 90 * MINUTE_MS, end: source.now_ms };

  it.each(["hour", "day", "week"] as const)("split by %s add up to the figures of the whole window", (unit) => {
    const { periods } = usePeriods(source, window, unit);
    const sum = (of: (one: (typeof periods)[number]) => number): number =>
      periods.reduce((all, one) => all + of(one), 0);
    const { by_mode } = durationByMode(source, window);
    for (const [mode, ms] of Object.entries(by_mode)) {
      expect(
        sum((one) => one.by_mode[mode as keyof typeof by_mode] ?? 0),
        mode,
      ).toBe(ms);
    }
    expect(sum(({ cycle_count }) => cycle_count)).toBe(cycleCount(source, window).cycle_count);
    expect(sum(({ in_use_ms }) => in_use_ms)).toBe(utilization(source, window).in_use_ms);
    expect(sum(({ energy_kwh }) => energy_kwh ?? 0)).toBeCloseTo(energy(source, window).energy_kwh ?? 0, 6);
    expect(periods[0]?.start).toBe(window.start);
    expect(periods.at(-1)?.end).toBe(window.end);
    expect(by_mode.no_data).toBeGreaterThan(HOUR_MS);
    expect(energy(source, window).energy_kwh).toBeGreaterThan(50);
  });

  it("have mode times that add up to the length of each period", () => {
    for (const { start, end, by_mode } of usePeriods(source, window, "day").periods) {
      expect(Object.values(by_mode).reduce((all, ms) => all + ms, 0)).toBe(end - start);
    }
  });

  it("are rejected with advice if the window has more periods than a chart may show", () => {
    const long = { start: source.now_ms - 10 * DAY_MS, end: source.now_ms };
    expect(() => usePeriods(source, long, "hour")).toThrow("take a longer unit");
  });
});
