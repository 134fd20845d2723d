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
describe("the rise of a counter", () => {
  it.each<[string, Kind, number, number, Count["kind"]]>([
    ["by one cycle less than the limit in 1 h is normal", CYCLES, HOUR_MS, 9, "normal"],
    ["by the limit of cycles in 1 h is normal", CYCLES, HOUR_MS, 10, "normal"],
    ["by one cycle more than the limit in 1 h is unexplained", CYCLES, HOUR_MS, 11, "unexplained"],
    ["by one cycle at once is normal", CYCLES, 0, 1, "normal"],
    ["by two cycles at once is unexplained", CYCLES, 0, 2, "unexplained"],
    ["by one cycle is normal if the monotonic clock ran back", CYCLES, -HOUR_MS, 1, "normal"],
    ["by two cycles is unexplained if the monotonic clock ran back", CYCLES, -HOUR_MS, 2, "unexplained"],
    ["by the limit of an hour meter in 10 h is normal", HOURS, 10 * HOUR_MS, 15.31, "normal"],
    [
      "by one step more than the limit of an hour meter in 10 h is unexplained",
      HOURS,
      10 * HOUR_MS,
      15.32,
      "unexplained",
    ],
    ["is normal if the counter's fastest rate is unknown", { ...CYCLES, role: "kwh" }, 0, 999_900, "normal"],
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
describe("the fall of a counter", () => {
  it.each<[string, number | undefined, [number, number], Count["kind"], number]>([
    ["is a wrap for 16 bits with one count less than the limit", 65_536, [65_528, 1], "wrap", 9],
    ["is a wrap for 16 bits with as many counts as the limit", 65_536, [65_528, 2], "wrap", 10],
    ["is a reset for 16 bits with one count more than the limit", 65_536, [65_528, 3], "reset", 3],
    ["is a wrap for 16 bits from its largest value to 0", 65_536, [65_535, 0], "wrap", 1],
    ["is a reset for 16 bits from a value out of its range", 65_536, [65_536, 0], "reset", 0],
    ["is a wrap for 32 bits with as many counts as the limit", 2 ** 32, [2 ** 32 - 8, 2], "wrap", 10],
    ["is a reset for 32 bits with one count more than the limit", 2 ** 32, [2 ** 32 - 8, 3], "reset", 3],
    ["is a wrap for BCD-4 with as many counts as the limit", 10_000, [9992, 2], "wrap", 10],
    ["is a reset for BCD-4 with one count more than the limit", 10_000, [9992, 3], "reset", 3],
    ["is a reset for BCD-4 that is configured as 16 bits", 65_536, [9998, 1], "reset", 1],
    ["is a reset without a modulus if the new value is one less than the limit", undefined, [5000, 9], "reset", 9],
    ["is a reset without a modulus if the new value is the limit", undefined, [5000, 10], "reset", 10],
    [
      "is unexplained without a modulus if the new value is one more than the limit",
      undefined,
      [5000, 11],
      "unexplained",
      0,
    ],
    ["by one is unexplained", undefined, [5000, 4999], "unexplained", 0],
    ["to 0 is a reset", undefined, [5000, 0], "reset", 0],
    ["below 0 is unexplained", undefined, [5000, -1], "unexplained", 0],
  ])("%s", (...[, modulus, [previous, next], kind, delta]) => {
    const counter: CounterParameters = { step: 1, retained: true, ...(modulus === undefined ? {} : { modulus }) };
    const pair = { previous, next, elapsed_ms: HOUR_MS, counter, max_rate_per_h: 6 };
    expect(countOf({ ...pair, restarted: false })).toEqual({ kind, delta });
  });

  it("is unexplained if the counter's maximum rate is unknown", () => {
    const counter = { step: 1, modulus: 65_536, retained: true };
    const pair = { previous: 65_535, next: 0, elapsed_ms: HOUR_MS, restarted: false, counter };
    expect(countOf({ ...pair, max_rate_per_h: undefined })).toEqual({ kind: "unexplained", delta: 0 });
  });

  it("is a reset if the PLC restarted, and adds the new value only if the value is plausible", () => {
    const counter = { step: 1, retained: true };
    const pair = { previous: 5000, elapsed_ms: HOUR_MS, restarted: true, counter, max_rate_per_h: 6 };
    expect(countOf({ ...pair, next: 10 })).toEqual({ kind: "reset", delta: 10 });
    expect(countOf({ ...pair, next: 11 })).toEqual({ kind: "reset", delta: 0 });
  });
});

/** Totals in the state. */
describe("the total of a booth's counter", () => {
  const counted = { step: 0.1, modulus: 1000, max_rate_per_h: 61.2, retained: true };
  const parameters = {
    ...PARAMETERS,
    tags: { ...PARAMETERS.tags, meter: tag("hour_meter", "min", { counter: counted }) },
  };

  it.each<[string, readonly number[], number, number]>([
    ["includes a normal rise", [999.5, 999.8], 3, 0],
    ["includes the rise over a wrap", [999.5, 999.9, 0.2], 7, 0],
    ["includes the value after a reset", [500, 500.3, 0.2], 5, 1],
    ["leaves out a jump, and includes the rise after it", [500, 700, 700.2], 2, 1],
    ["leaves out an unexplained fall, and includes the rise after it", [500, 300, 300.2], 2, 1],
    ["stays the same without a rise", [500, 500], 0, 0],
  ])("%s (readings %j)", (...[, values, total, odd]) => {
    const booth = script(parameters);
    for (const meter of values) stay(booth, 30_000, { mode: 3, meter });
    stay(booth, 5000, { mode: 1 });
    expect(run(booth, parameters).state.counters["meter"]).toMatchObject({ total_steps: total, odd });
  });
});

describe("the fall of a PLC counter to 0", () => {
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
  ])("counts as lost PLC memory (counter retained: %s, unread for %i ms, gateway restarted: %s): %s", (...row) => {
    const [retained, gap, rebooted, expected] = row;
    expect(isLoss(retained, gap, rebooted)).toBe(expected);
  });
});
