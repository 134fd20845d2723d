import { describe, expect, it } from "vitest";
import { type Count, countOf } from "../../src/derivation/timeline/readings.ts";
import { type CounterParameters, maxRateOf, type TagParameters, type TagRole } from "../../src/domain/parameters.ts";
import { fold, poll, reboot, run, script, stay, valuesOf } from "../support/booth.ts";
import { live, lived } from "../support/lives.ts";
import { PARAMETERS, tag } from "../support/parameters.ts";
import { HOUR_MS } from "../../src/domain/time.ts";

interface Kind {
  readonly role: TagRole;
  readonly unit: string;
  readonly step: number;
  readonly factor?: number;
}
const CYCLES: Kind = { role: "cycle_counter", unit: "cycles", step: 1 };
const HOURS: Kind = { role: "hour_meter", unit: "h", step: 0.01 };

function rateOf({ role, unit, step, factor = 1 }: Kind): number | undefined {
  const one: TagParameters = tag(role, unit, { factor, counter: { step, retained: true } });
  return maxRateOf(one, { ...PARAMETERS, burner_size_btu_h: 1_000_000 });
}

/** Limit: one step + the default max_rate x time x 1.5. */
describe("a rise", () => {
  it.each<[string, Kind, number, number, Count["kind"]]>([
    ["cycles in 1 h, one below", CYCLES, HOUR_MS, 9, "normal"],
    ["cycles in 1 h, at it", CYCLES, HOUR_MS, 10, "normal"],
    ["cycles in 1 h, one above", CYCLES, HOUR_MS, 11, "unexplained"],
    ["cycles at once", CYCLES, 0, 1, "normal"],
    ["cycles at once, one above", CYCLES, 0, 2, "unexplained"],
    ["cycles with a mono that ran back", CYCLES, -HOUR_MS, 1, "normal"],
    ["cycles with a mono that ran back, one above", CYCLES, -HOUR_MS, 2, "unexplained"],
    ["hours in 10 h, at it", HOURS, 10 * HOUR_MS, 15.31, "normal"],
    ["hours in 10 h, one above", HOURS, 10 * HOUR_MS, 15.32, "unexplained"],
    ["of which no fastest rate is known", { ...CYCLES, role: "kwh" }, 0, 999_900, "normal"],
  ])("%s", (...[, kind, elapsed_ms, rise, found]) => {
    const counter: CounterParameters = { step: kind.step, retained: true };
    const pair = { previous: 500, next: 500 + rise, elapsed_ms, restarted: false, counter };
    expect(countOf({ ...pair, max_rate_per_h: rateOf(kind) })).toEqual({
      kind: found,
      delta: found === "normal" ? 500 + rise - 500 : 0,
    });
  });
});

/** 10 counts are plausible. If the value after the fall can have been counted from 0, the fall is a reset. */
describe("a fall", () => {
  it.each<[string, number | undefined, [number, number], Count["kind"], number]>([
    ["16 bits, a count below the last plausible one", 65_536, [65_528, 1], "wrap", 9],
    ["16 bits, at it", 65_536, [65_528, 2], "wrap", 10],
    ["16 bits, one above", 65_536, [65_528, 3], "reset", 3],
    ["16 bits, from its last value to 0", 65_536, [65_535, 0], "wrap", 1],
    ["16 bits, a value that it can't have", 65_536, [65_536, 0], "reset", 0],
    ["32 bits, at the last plausible count", 2 ** 32, [2 ** 32 - 8, 2], "wrap", 10],
    ["32 bits, one above", 2 ** 32, [2 ** 32 - 8, 3], "reset", 3],
    ["BCD-4, at the last plausible count", 10_000, [9992, 2], "wrap", 10],
    ["BCD-4, one above", 10_000, [9992, 3], "reset", 3],
    ["BCD-4 read as 16 bits", 65_536, [9998, 1], "reset", 1],
    ["no modulus, a count below the largest small value", undefined, [5000, 9], "reset", 9],
    ["no modulus, at it", undefined, [5000, 10], "reset", 10],
    ["no modulus, one above", undefined, [5000, 11], "unexplained", 0],
    ["by one", undefined, [5000, 4999], "unexplained", 0],
    ["to 0", undefined, [5000, 0], "reset", 0],
    ["below 0", undefined, [5000, -1], "unexplained", 0],
  ])("%s", (...[, modulus, [previous, next], kind, delta]) => {
    const counter: CounterParameters = { step: 1, retained: true, ...(modulus === undefined ? {} : { modulus }) };
    const pair = { previous, next, elapsed_ms: HOUR_MS, counter, max_rate_per_h: 6 };
    expect(countOf({ ...pair, restarted: false })).toEqual({ kind, delta });
  });

  it("a fall of a counter with an unknown fastest rate is unexplained", () => {
    const counter = { step: 1, modulus: 65_536, retained: true };
    const pair = { previous: 65_535, next: 0, elapsed_ms: HOUR_MS, restarted: false, counter };
    expect(countOf({ ...pair, max_rate_per_h: undefined })).toEqual({ kind: "unexplained", delta: 0 });
  });

  it("with restart evidence is never unexplained, and books what is plausible alone", () => {
    const counter = { step: 1, retained: true };
    const pair = { previous: 5000, elapsed_ms: HOUR_MS, restarted: true, counter, max_rate_per_h: 6 };
    expect(countOf({ ...pair, next: 10 })).toEqual({ kind: "reset", delta: 10 });
    expect(countOf({ ...pair, next: 11 })).toEqual({ kind: "reset", delta: 0 });
  });
});

/** Totals in the state. */
describe("a booth's counter", () => {
  const counted = { step: 0.1, modulus: 1000, max_rate_per_h: 61.2, retained: true };
  const parameters = {
    ...PARAMETERS,
    tags: { ...PARAMETERS.tags, meter: tag("hour_meter", "min", { counter: counted }) },
  };

  it.each<[string, readonly number[], number, number]>([
    ["counts on", [999.5, 999.8], 3, 0],
    ["wraps", [999.5, 999.9, 0.2], 7, 0],
    ["starts over", [500, 500.3, 0.2], 5, 1],
    ["jumps, and counts on from there", [500, 700, 700.2], 2, 1],
    ["falls unexplained, and counts on from there", [500, 300, 300.2], 2, 1],
    ["stands still", [500, 500], 0, 0],
  ])("%s: %j", (...[, values, total, odd]) => {
    const booth = script(parameters);
    for (const meter of values) stay(booth, 30_000, { mode: 3, meter });
    stay(booth, 5000, { mode: 1 });
    expect(run(booth, parameters).state.counters["meter"]).toMatchObject({ total_steps: total, odd });
  });
});

describe("a counter in the PLC's volatile memory that starts over", () => {
  const counted = (retained: boolean) => ({
    ...PARAMETERS,
    tags: {
      ...PARAMETERS.tags,
      starts: tag("motor_starts", "", { counter: { step: 1, max_rate_per_h: 60, retained } }),
    },
  });

  /** Returns whether the fall counts as a loss of memory. */
  function isLoss(retained: boolean, gap: number, rebooted: boolean): boolean {
    const parameters = counted(retained);
    const booth = lived(parameters, [60_000, { mode: 1, starts: 499 }]);
    poll(booth, { starts: 500 });
    live(booth, { gap_ms: gap });
    const from = booth.entries.length;
    stay(booth, 60_000, { mode: 1, starts: 0 });
    if (rebooted) reboot(booth, from);
    const { facts } = fold(booth.entries, parameters, [3]);
    return valuesOf(facts, "i").some(({ check }) => check === "memory_loss");
  }

  it.each([
    [false, 14_999, false, false],
    [false, 15_000, false, false],
    [false, 15_001, false, true],
    [true, 15_001, false, false],
    [false, 14_999, true, false],
    [false, 15_000, true, false],
    [false, 15_001, true, true],
    [true, 15_001, true, false],
  ])("retained %s, not read for %i ms, the box restarted meanwhile %s: a loss of memory %s", (...row) => {
    const [retained, gap, rebooted, expected] = row;
    expect(isLoss(retained, gap, rebooted)).toBe(expected);
  });
});
