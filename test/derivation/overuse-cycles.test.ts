import { describe, expect, it } from "vitest";
import type { Parameters } from "../../src/domain/parameters.ts";
import type { Maintenance } from "../../src/domain/record.ts";
import { overuse } from "../../src/reports/overuse.ts";
import { enterFilter, run, script, type Script, stay, T0, valuesOf } from "../support/booth.ts";
import { live } from "../support/lives.ts";
import { uncounted, withFilters } from "../support/parameters.ts";
import { sourceOf } from "../support/reader.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/domain/time.ts";

const COUNTED = withFilters({ exhaust_filter: { limits: { minutes: 30 } } });
const BY_CYCLES = withFilters({ exhaust_filter: { limits: { cycles: 5 } } });

function last(booth: Script, parameters: Parameters): Maintenance | undefined {
  stay(booth, 5 * MINUTE_MS, { mode: 1 });
  return valuesOf(run(booth, parameters).facts, "f")
    .flatMap(({ maintenance }) => maintenance ?? [])
    .at(-1);
}

/** Plays overuse from minute 30 on, in which the PLC counts eight cycles during silences. */
function silences(parameters: Parameters): Script {
  const booth = script(parameters);
  enterFilter(booth, 0);
  stay(booth, 31 * MINUTE_MS, { mode: 3, cycles: 100 });
  for (const cycles of [102, 104, 106, 108]) {
    live(booth, { gap_ms: HOUR_MS }, [2 * MINUTE_MS, { mode: 3, cycles }]);
  }
  enterFilter(booth);
  return booth;
}

describe("overuse cycles", () => {
  it("equal the rise of the PLC's counter, silences included, in the removal record and in reports", () => {
    const booth = silences(COUNTED);
    expect(last(booth, COUNTED)).toMatchObject({ booth_overuse_cycles: 8, cycles: 8 });
    const source = sourceOf(booth, COUNTED);
    const window = (start: number, end: number) => overuse(source, { start: T0 + start, end: T0 + end });
    expect(window(0, 5 * HOUR_MS)).toMatchObject({ overuse_cycles: 8, cycles_source: "plc" });
    // Adjacent windows add up for every cut.
    for (const cut of [31, 90, 93, 155, 200]) {
      const parts = [window(0, cut * MINUTE_MS), window(cut * MINUTE_MS, 5 * HOUR_MS)];
      expect(parts.reduce((sum, { overuse_cycles }) => sum + overuse_cycles, 0)).toBe(8);
    }
  });

  it("are derived from the stages if the PLC has no cycle counter", () => {
    const parameters = uncounted(COUNTED);
    expect(last(silences(parameters), parameters)?.booth_overuse_cycles).toBeLessThan(3);
  });

  it.each([
    [30 * MINUTE_MS - 1, 0],
    [30 * MINUTE_MS, 0],
    [30 * MINUTE_MS + 1, 1],
  ])(
    "include a cycle only after the limit at 30 min: a cycle first shown after %i ms counts %i time(s)",
    (at, cycles) => {
      const booth = script(COUNTED);
      enterFilter(booth, 0);
      live(booth, [at, { mode: 3, cycles: 100 }], [10 * MINUTE_MS, { cycles: 101 }]);
      enterFilter(booth);
      expect(last(booth, COUNTED)).toMatchObject({ booth_overuse_cycles: cycles, cycles: 1 });
      const source = sourceOf(booth, COUNTED);
      expect(overuse(source, { start: T0, end: T0 + HOUR_MS }).overuse_cycles).toBe(cycles);
    },
  );

  it.each([
    [-1, 0],
    [0, 1],
    [1, 1],
  ])("for a filter removed %i ms after the reading that shows a cycle are %i", (by, cycles) => {
    const booth = script(COUNTED);
    enterFilter(booth, 0);
    live(booth, [40 * MINUTE_MS, { mode: 3, cycles: 100 }], [10 * MINUTE_MS, { cycles: 101 }]);
    enterFilter(booth, 40 * MINUTE_MS + by);
    expect(last(booth, COUNTED)).toMatchObject({ booth_overuse_cycles: cycles, cycles });
  });

  it("include a cycle for the old filter if the counter shows it at the instant of the entered filter change", () => {
    const booth = script(COUNTED);
    enterFilter(booth, 0);
    stay(booth, 40 * MINUTE_MS, { mode: 3, cycles: 100 });
    enterFilter(booth);
    stay(booth, 10 * MINUTE_MS, { cycles: 101 });
    expect(last(booth, COUNTED)).toMatchObject({ booth_overuse_cycles: 1, cycles: 1 });
    enterFilter(booth);
    expect(last(booth, COUNTED)).toMatchObject({ cycles: 0 });
  });

  it("include a cycle shown half a second after the limit, even before the stage at the limit is final", () => {
    const booth = script(COUNTED);
    enterFilter(booth, 0);
    stay(booth, 30 * MINUTE_MS - 1_000, { mode: 3, cycles: 100 });
    // A stage is not final before it has lasted min_stage.
    live(booth, [1_500, { mode: 4 }], [10 * MINUTE_MS, { mode: 4, cycles: 101 }]);
    enterFilter(booth);
    expect(last(booth, COUNTED)).toMatchObject({
      overuse_since: T0 + 30 * MINUTE_MS,
      booth_overuse_cycles: 1,
      cycles: 1,
    });
  });

  it("start after the reading that reaches the limit in cycles", () => {
    const booth = script(BY_CYCLES);
    enterFilter(booth, 0);
    live(booth, [HOUR_MS, { mode: 3, cycles: 100 }], [HOUR_MS, { mode: 3, cycles: 104 }]);
    live(booth, [HOUR_MS, { mode: 3, cycles: 105 }], [HOUR_MS, { mode: 3, cycles: 107 }]);
    enterFilter(booth);
    expect(last(booth, BY_CYCLES)).toMatchObject({
      overuse_since: T0 + 2 * HOUR_MS,
      booth_overuse_ms: 2 * HOUR_MS,
      booth_overuse_cycles: 2,
      cycles: 7,
    });
  });
});
