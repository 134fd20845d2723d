import { describe, expect, it } from "vitest";
import type { BakeRule } from "../../src/domain/parameters.ts";
import type { BakeCurve, BakePart } from "../../src/domain/record.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";
import { bakeOf } from "../../src/reports/bakes.ts";
import { T0 } from "../support/booth.ts";

const CURE: BakeRule = { name: "Clear coat", sensor: "metal", at_least_c: 60, minutes: 30 };
const LIMIT: BakeRule = { name: "Electric vehicle", sensor: "metal", at_most_c: 49 };

/** Packs degrees per minute as a curve. */
function curve(degrees: readonly (number | null)[], { deadband = 0, low = degrees } = {}): BakeCurve {
  const steps = (list: readonly (number | null)[]): (number | null)[] => {
    let before = 0;
    return list.map((one) => {
      if (one === null) return null;
      const step = Math.round(one * 10) - before;
      before = Math.round(one * 10);
      return step;
    });
  };
  return { deadband, low: steps(low), high: steps(degrees) };
}

function part(metal: BakeCurve | undefined, start_min = 0, minutes = metal?.low.length ?? 10): BakePart {
  const start = T0 + start_min * MINUTE_MS;
  return { mode: "bake", start, end: start + minutes * MINUTE_MS, ...(metal && { metal }) };
}

function judged(parts: readonly BakePart[], rule: BakeRule) {
  const end = parts.at(-1)?.end ?? T0;
  const bake = {
    bay: 0,
    start: T0,
    end,
    tz: "UTC",
    bake_ms: end - T0,
    no_data_ms: 0,
    end_reason: "run",
    parts,
  } as const;
  const { verdicts, metal } = bakeOf(bake, [rule]);
  const { verdict = "", reason = "", longest_ms = null } = verdicts[0] ?? {};
  return { verdict, reason, minutes: longest_ms === null ? null : longest_ms / MINUTE_MS, metal };
}

const hot = (minutes: number, celsius = 65): number[] => Array.from({ length: minutes }, () => celsius);

describe("a rule for the cure", () => {
  it.each([
    ["30 minutes at the limit", hot(30, 60), {}, "met", ""],
    ["29 minutes", [40, ...hot(29), 40], {}, "not_met", ""],
    [
      "29 minutes, and the limit crossed in the minutes before and after",
      hot(31),
      { low: [50, ...hot(29), 50] },
      "cannot_tell",
      "minute",
    ],
    ["30 minutes with a break of one minute", [...hot(15), 59, ...hot(15)], {}, "not_met", ""],
    ["30 minutes with a minute without data", [...hot(15), null, ...hot(15)], {}, "cannot_tell", "no_data"],
    ["20 minutes, and 5 without data", [...hot(20), null, null, null, null, null], {}, "not_met", ""],
    [
      "30 minutes 0.5 degrees above the limit, with a deadband of 1",
      hot(30, 60.5),
      { deadband: 1 },
      "cannot_tell",
      "accuracy",
    ],
    ["30 minutes 1 degree above the limit, with a deadband of 1", hot(30, 61), { deadband: 1 }, "met", ""],
    [
      "30 minutes 0.5 degrees below the limit, with a deadband of 1",
      hot(30, 59.5),
      { deadband: 1 },
      "cannot_tell",
      "accuracy",
    ],
  ] as const)("after %s: %j, %j, is %s %s", (...[, degrees, more, verdict, reason]) => {
    expect(judged([part(curve(degrees, more))], CURE)).toMatchObject({ verdict, reason });
  });

  it("counts the longest time without a break, over stages that follow each other", () => {
    expect(judged([part(curve(hot(20))), part(curve(hot(11)), 20)], CURE)).toMatchObject({
      verdict: "met",
      minutes: 31,
    });
    const apart = judged([part(curve(hot(20))), part(curve(hot(11)), 21)], CURE);
    expect(apart).toMatchObject({ verdict: "cannot_tell", reason: "no_data", minutes: 20 });
  });
});

describe("a rule for the highest temperature", () => {
  it.each([
    ["always below the limit", [20, 40, 49], {}, "met", ""],
    ["a peak above the limit", [20, 49.1, 40], {}, "not_met", ""],
    ["a peak above the limit, and a minute without data", [20, 49.1, null], {}, "not_met", ""],
    ["a minute without data", [20, null, 40], {}, "cannot_tell", "no_data"],
    ["a minute with a part without data", [20, 30, 40], { low: [20, null, 40] }, "cannot_tell", "no_data"],
    ["a peak within the deadband", [20, 48.5, 40], { deadband: 1 }, "cannot_tell", "accuracy"],
  ] as const)("with %s: %j, %j, is %s %s", (...[, degrees, more, verdict, reason]) => {
    expect(judged([part(curve(degrees, more))], LIMIT)).toMatchObject({ verdict, reason });
  });
});

it("without a sensor, a rule cannot tell, and the bake has no figures of it", () => {
  expect(judged([part(undefined)], CURE)).toEqual({
    verdict: "cannot_tell",
    reason: "no_sensor",
    minutes: null,
    metal: null,
  });
});

it("the figures of a bake are peak, lowest value and the time without data", () => {
  const { metal } = judged([part(curve([20, null, 71.3])), part(curve([50]), 5)], CURE);
  expect(metal).toMatchObject({ peak_c: 71.3, lowest_c: 20, unknown_ms: 3 * MINUTE_MS });
});
