import { describe, expect, it } from "vitest";
import { openEndOf } from "../../src/derivation/fold.ts";
import type { Parameters } from "../../src/domain/parameters.ts";
import {
  commit,
  foldRecords,
  forget,
  poll,
  put,
  run,
  script,
  type Script,
  silence,
  stageTexts,
  stay,
  T0,
  valuesOf,
} from "../support/booth.ts";
import { live, lived } from "../support/lives.ts";
import { PARAMETERS, PLAIN, tag } from "../support/parameters.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/domain/time.ts";

function polledEvery(poll_interval_ms: number, extra: Partial<Parameters> = {}): Parameters {
  return { ...PLAIN, groups: { fast: { poll_interval_ms } }, ...extra };
}

/** The bridge is max(15 s, three polls). */
describe("bridge", () => {
  it.each([
    [4999, 14_999, 0],
    [4999, 15_000, 0],
    [4999, 15_001, 15_001],
    [5001, 15_002, 0],
    [5001, 15_003, 0],
    [5001, 15_004, 15_004],
    [60_000, 179_999, 0],
    [60_000, 180_000, 0],
    [60_000, 180_001, 180_001],
  ])("polled every %i ms, a gap of %i ms leaves %i ms without data", (poll_ms, gap, missing) => {
    const parameters = polledEvery(poll_ms, { min_stage_ms: 2000 });
    const booth = lived(parameters, [4 * MINUTE_MS, { mode: 3 }], { gap_ms: gap - 1 }, [4 * MINUTE_MS, { mode: 3 }]);
    stay(booth, 4 * MINUTE_MS, { mode: 1 });
    const stages = valuesOf(run(booth, parameters).facts, "m");
    const none = stages.filter(({ mode }) => mode === "no_data");
    expect(none.reduce((sum, { start, end }) => sum + end - start, 0)).toBe(missing);
  });

  it.each([
    [14_999, 14_999],
    [15_000, 15_000],
    [15_001, 15_000],
  ])("an open stage counts %i ms after the last good reading as %i", (after, counted) => {
    const booth = lived(PLAIN, [MINUTE_MS, { mode: 3 }]);
    const open = openEndOf(run(booth, PLAIN).state, T0 + MINUTE_MS - 1 + after).stages.at(-1);
    expect((open?.end ?? 0) - T0).toBe(MINUTE_MS - 1 + counted);
  });
});

/** min_stage is the parameters' value, else max(2 s, one poll). */
describe("min_stage", () => {
  it.each([
    [1000, undefined, 1999, 1],
    [1000, undefined, 2000, 3],
    [2001, undefined, 2000, 1],
    [2001, undefined, 2001, 3],
    [2001, undefined, 2002, 3],
    [10_000, undefined, 9999, 1],
    [10_000, undefined, 10_000, 3],
    [10_000, undefined, 10_001, 3],
    [1000, 5000, 4999, 1],
    [1000, 5000, 5000, 3],
    [1000, 5000, 5001, 3],
    [1000, 500, 499, 1],
    [1000, 500, 500, 3],
    [1000, 500, 501, 3],
  ])("polled every %i ms, min_stage %s: a flash of %i ms between sprays gives %i stage(s)", (...row) => {
    const [poll_ms, min_stage_ms, length, count] = row;
    const parameters = polledEvery(poll_ms, min_stage_ms === undefined ? {} : { min_stage_ms });
    const booth = lived(parameters, [MINUTE_MS, { mode: 3 }], [length, { mode: 4 }], [MINUTE_MS, { mode: 3 }]);
    stay(booth, MINUTE_MS, { mode: 1 });
    expect(valuesOf(run(booth, parameters).facts, "m")).toHaveLength(count);
  });
});

interface Meters {
  readonly code: number;
  readonly gap_ms: number;
  /** Rise of the hour meter, min. */
  readonly meter: number;
  readonly step?: number;
}

/** Returns whether a gap without a counted cycle is attributed to the mode. */
function isAttributed({ code, gap_ms, meter, step = 0.1 }: Meters): boolean {
  const counter = { step, modulus: 1e6, max_rate_per_h: 61.2, retained: true };
  const parameters = {
    ...PARAMETERS,
    tags: { ...PARAMETERS.tags, meter: tag("hour_meter", "min", { counter }) },
  };
  const booth = lived(parameters, [MINUTE_MS, { mode: code, cycles: 5, meter: 100 }]);
  // The last poll came 1 ms before.
  silence(booth, gap_ms - 1);
  forget(booth);
  stay(booth, MINUTE_MS, { mode: code, cycles: 5, meter: Math.round((100 + meter) * 1000) / 1000 });
  stay(booth, MINUTE_MS, { mode: code === 8 ? 1 : 8 });
  return valuesOf(run(booth, parameters).facts, "m").every(({ mode }) => mode !== "no_data");
}

describe("attribution of a gap", () => {
  it.each<[string, Meters, boolean]>([
    ["in runtime, a tenth short and one step more", { code: 6, gap_ms: 40 * MINUTE_MS, meter: 35.9 }, false],
    ["in runtime, a tenth short", { code: 6, gap_ms: 40 * MINUTE_MS, meter: 36 }, true],
    ["in runtime, a tenth short but one step", { code: 6, gap_ms: 40 * MINUTE_MS, meter: 36.1 }, true],
    // A rise of 44.1 min in 40 would exceed the meter's fastest rate plus a step.
    ["in runtime, 2 % over", { code: 6, gap_ms: 40 * MINUTE_MS, meter: 40.8 }, true],
    ["in no runtime mode, a tenth less a step", { code: 1, gap_ms: 40 * MINUTE_MS, meter: 3.9 }, true],
    ["in no runtime mode, a tenth", { code: 1, gap_ms: 40 * MINUTE_MS, meter: 4 }, true],
    ["in no runtime mode, a tenth and a step", { code: 1, gap_ms: 40 * MINUTE_MS, meter: 4.1 }, false],
    ["a short gap: one step is more than a tenth", { code: 1, gap_ms: 30_000, meter: 0.1 }, true],
    ["two steps are more", { code: 1, gap_ms: 30_000, meter: 0.2 }, false],
    ["one below 12 h", { code: 6, gap_ms: 12 * HOUR_MS - 1, meter: 720 }, true],
    ["at 12 h", { code: 6, gap_ms: 12 * HOUR_MS, meter: 720 }, true],
    ["one above", { code: 6, gap_ms: 12 * HOUR_MS + 1, meter: 720 }, false],
  ])("%s", (_name, meters, expected) => {
    expect(isAttributed(meters)).toBe(expected);
  });

  it.each<[string, Meters, boolean]>([
    ["one below 2 min", { code: 6, gap_ms: 119_999, meter: 0, step: 60 }, true],
    ["at 2 min", { code: 6, gap_ms: 120_000, meter: 0, step: 60 }, true],
    ["one above", { code: 6, gap_ms: 120_001, meter: 0, step: 60 }, false],
    ["a step at half the gap proves again", { code: 6, gap_ms: 240_000, meter: 0, step: 2 }, false],
    ["within one step of it", { code: 6, gap_ms: 240_000, meter: 2, step: 2 }, true],
  ])("a meter whose step exceeds half the gap: %s", (_name, meters, expected) => {
    expect(isAttributed(meters)).toBe(expected);
  });
});

describe("an hour is final 10 min after its end", () => {
  it.each([
    [HOUR_MS + 10 * MINUTE_MS - 1, 0],
    [HOUR_MS + 10 * MINUTE_MS, 1],
    [HOUR_MS + 10 * MINUTE_MS + 1, 1],
  ])("at %i ms %i hour(s) are written", (at, count) => {
    const booth = lived(PLAIN, [at, { mode: 3 }]);
    poll(booth);
    expect(hoursOf(booth)).toHaveLength(count);
  });

  it.each([
    [10 * MINUTE_MS - 1, 0],
    [10 * MINUTE_MS, 2],
    [10 * MINUTE_MS + 1, 2],
  ])("its end in a gap, %i ms after the gap's end: %i hours", (after, count) => {
    const booth = lived(PLAIN, [50 * MINUTE_MS, { mode: 3 }], { gap_ms: 75 * MINUTE_MS }, [after, { mode: 3 }]);
    poll(booth);
    expect(hoursOf(booth)).toHaveLength(count);
  });

  it.each([
    [12 * HOUR_MS - 1, false],
    [12 * HOUR_MS, false],
    [12 * HOUR_MS + 1, true],
  ])("after %i ms of silence nothing is inferred any more: %s", (gap, expired) => {
    const booth = lived(PLAIN, [50 * MINUTE_MS, { mode: 3 }]);
    silence(booth, gap - 1);
    const value = { group: "fast", from: booth.now, to: booth.now, polls: 0, max_interval_ms: 0 };
    put(booth, { kind: "h", value });
    const { state } = foldRecords(commit(booth.entries, PLAIN, [booth.entries.length]));
    expect(state.bays[0]?.gap?.expired).toBe(expired);
  });
});

function hoursOf(booth: Script): number[] {
  return valuesOf(run(booth, PLAIN).facts, "d").map(({ hour }) => hour);
}

describe("pauses of a run", () => {
  const codes = { prep: 2, setback: 9, unknown: 99 } as const;

  it.each([
    ["prep", 119_999, 1],
    ["prep", 120_000, 2],
    ["setback", 120_000, 2],
    ["unknown", 120_000, 2],
  ] as const)("%s of %i ms: %i cycle(s)", (mode, ms, count) => {
    const booth = script(PLAIN);
    for (const [code, length] of [
      [3, 10 * MINUTE_MS],
      [codes[mode], ms],
      [3, 10 * MINUTE_MS],
      [1, HOUR_MS],
    ] as const) {
      stay(booth, length, { mode: code });
    }
    expect(valuesOf(run(booth, PLAIN).facts, "c")).toHaveLength(count);
  });
});

it("stages of min_stage that follow on each other stay apart", () => {
  const booth = lived(PLAIN, [MINUTE_MS, { mode: 3 }], [2000, { mode: 4 }], [2000, { mode: 1 }]);
  live(booth, [MINUTE_MS, { mode: 0 }], [2000, { mode: 1 }]);
  expect(stageTexts(run(booth, PLAIN).facts)).toEqual(["spray 0-60000", "flash 60000-62000", "idle 62000-64000"]);
});
