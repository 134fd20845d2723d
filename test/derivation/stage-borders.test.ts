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
describe("the bridge (a gap so short that it does not end a stage)", () => {
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
  ])("leaves, with polls every %i ms and a gap of %i ms, %i ms without data", (poll_ms, gap, missing) => {
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
  ])("counts, %i ms after the last good reading, %i ms toward the open stage", (after, counted) => {
    const booth = lived(PLAIN, [MINUTE_MS, { mode: 3 }]);
    const open = openEndOf(run(booth, PLAIN).state, T0 + MINUTE_MS - 1 + after).stages.at(-1);
    expect((open?.end ?? 0) - T0).toBe(MINUTE_MS - 1 + counted);
  });
});

/** min_stage is the parameters' value, else max(2 s, one poll). */
describe("min_stage (the duration of the shortest stage that is kept)", () => {
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
  ])(
    "with polls every %i ms and the setting %s gives, for a flash of %i ms between two sprays, %i stage(s)",
    (...row) => {
      const [poll_ms, min_stage_ms, length, count] = row;
      const parameters = polledEvery(poll_ms, min_stage_ms === undefined ? {} : { min_stage_ms });
      const booth = lived(parameters, [MINUTE_MS, { mode: 3 }], [length, { mode: 4 }], [MINUTE_MS, { mode: 3 }]);
      stay(booth, MINUTE_MS, { mode: 1 });
      expect(valuesOf(run(booth, parameters).facts, "m")).toHaveLength(count);
    },
  );
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

describe("the attribution of a gap to the mode before and after the gap", () => {
  it.each<[string, Meters, boolean]>([
    [
      "fails in bake if the meter's rise is short by a tenth of the gap and one step",
      { code: 6, gap_ms: 40 * MINUTE_MS, meter: 35.9 },
      false,
    ],
    [
      "succeeds in bake if the meter's rise is short by a tenth of the gap",
      { code: 6, gap_ms: 40 * MINUTE_MS, meter: 36 },
      true,
    ],
    [
      "succeeds in bake if the meter's rise is short by a tenth of the gap less one step",
      { code: 6, gap_ms: 40 * MINUTE_MS, meter: 36.1 },
      true,
    ],
    // A rise of 44.1 min in 40 would exceed the meter's fastest rate plus a step.
    [
      "succeeds in bake if the meter rises by 2 % more than the gap",
      { code: 6, gap_ms: 40 * MINUTE_MS, meter: 40.8 },
      true,
    ],
    [
      "succeeds in idle if the meter rises by a tenth of the gap less one step",
      { code: 1, gap_ms: 40 * MINUTE_MS, meter: 3.9 },
      true,
    ],
    ["succeeds in idle if the meter rises by a tenth of the gap", { code: 1, gap_ms: 40 * MINUTE_MS, meter: 4 }, true],
    [
      "fails in idle if the meter rises by a tenth of the gap and one step",
      { code: 1, gap_ms: 40 * MINUTE_MS, meter: 4.1 },
      false,
    ],
    ["succeeds in idle for a short gap if the meter rises by one step", { code: 1, gap_ms: 30_000, meter: 0.1 }, true],
    ["fails in idle for a short gap if the meter rises by two steps", { code: 1, gap_ms: 30_000, meter: 0.2 }, false],
    ["succeeds for a gap 1 ms shorter than 12 h", { code: 6, gap_ms: 12 * HOUR_MS - 1, meter: 720 }, true],
    ["succeeds for a gap of 12 h", { code: 6, gap_ms: 12 * HOUR_MS, meter: 720 }, true],
    ["fails for a gap 1 ms longer than 12 h", { code: 6, gap_ms: 12 * HOUR_MS + 1, meter: 720 }, false],
  ])("%s", (_name, meters, expected) => {
    expect(isAttributed(meters)).toBe(expected);
  });

  it.each<[string, Meters, boolean]>([
    [
      "succeeds without a rise for a gap 1 ms shorter than 2 min",
      { code: 6, gap_ms: 119_999, meter: 0, step: 60 },
      true,
    ],
    ["succeeds without a rise for a gap of 2 min", { code: 6, gap_ms: 120_000, meter: 0, step: 60 }, true],
    ["fails without a rise for a gap 1 ms longer than 2 min", { code: 6, gap_ms: 120_001, meter: 0, step: 60 }, false],
    ["fails without a rise if one step is half the gap", { code: 6, gap_ms: 240_000, meter: 0, step: 2 }, false],
    [
      "succeeds with a rise of one step if one step is half the gap",
      { code: 6, gap_ms: 240_000, meter: 2, step: 2 },
      true,
    ],
  ])("with a coarse hour meter %s", (_name, meters, expected) => {
    expect(isAttributed(meters)).toBe(expected);
  });
});

describe("hour facts (final 10 min after the hour)", () => {
  it.each([
    [HOUR_MS + 10 * MINUTE_MS - 1, 0],
    [HOUR_MS + 10 * MINUTE_MS, 1],
    [HOUR_MS + 10 * MINUTE_MS + 1, 1],
  ])("are written, at %i ms, for %i hour(s)", (at, count) => {
    const booth = lived(PLAIN, [at, { mode: 3 }]);
    poll(booth);
    expect(hoursOf(booth)).toHaveLength(count);
  });

  it.each([
    [10 * MINUTE_MS - 1, 0],
    [10 * MINUTE_MS, 2],
    [10 * MINUTE_MS + 1, 2],
  ])("are written %i ms after a gap, for the hours that end in the gap: %i hour(s)", (after, count) => {
    const booth = lived(PLAIN, [50 * MINUTE_MS, { mode: 3 }], { gap_ms: 75 * MINUTE_MS }, [after, { mode: 3 }]);
    poll(booth);
    expect(hoursOf(booth)).toHaveLength(count);
  });

  it.each([
    [12 * HOUR_MS - 1, false],
    [12 * HOUR_MS, false],
    [12 * HOUR_MS + 1, true],
  ])("a gap expires (its time is no longer inferred) after %i ms: %s", (gap, expired) => {
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

describe("pauses within a run", () => {
  const codes = { prep: 2, setback: 9, unknown: 99 } as const;

  it.each([
    ["prep", 119_999, 1],
    ["prep", 120_000, 2],
    ["setback", 120_000, 2],
    ["unknown", 120_000, 2],
  ] as const)("give, in the mode %s between two sprays and with a length of %i ms, %i cycle(s)", (mode, ms, count) => {
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

it("stages of exactly min_stage are not merged, even if several follow each other", () => {
  const booth = lived(PLAIN, [MINUTE_MS, { mode: 3 }], [2000, { mode: 4 }], [2000, { mode: 1 }]);
  live(booth, [MINUTE_MS, { mode: 0 }], [2000, { mode: 1 }]);
  expect(stageTexts(run(booth, PLAIN).facts)).toEqual(["spray 0-60000", "flash 60000-62000", "idle 62000-64000"]);
});
