import { describe, expect, it } from "vitest";
import { peek } from "../../src/derivation/fold.ts";
import type { Parameters } from "../../src/domain/parameters.ts";
import { fold, poll, run, script, type Script, silence, stageTexts, stay, T0, valuesOf } from "../support/booth.ts";
import { exhaustFilter, live, lived } from "../support/lives.ts";
import { PARAMETERS, PLAIN, tag, uncounted, withFilters } from "../support/parameters.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/domain/time.ts";

/** Plays a spray with a silence of `ms` over which the hour meter rises by `meter`; returns the modes of its stages. */
function over(parameters: Parameters, ms: number, values: { before?: number; meter: number | null }): string[] {
  const booth = script(parameters);
  const { before = 100, meter } = values;
  stay(booth, 5 * MINUTE_MS, { mode: 3, cycles: 5, meter: before - 5 });
  stay(booth, 5 * MINUTE_MS, { cycles: 6, meter: before });
  live(booth, { gap_ms: ms }, [5 * MINUTE_MS, { mode: 3, cycles: 6, meter: meter === null ? null : before + meter }]);
  stay(booth, 5 * MINUTE_MS, { mode: 0 });
  return valuesOf(run(booth, parameters).facts, "m").map(({ mode }) => mode);
}

function metered(extra: Partial<Parameters["tags"][string]>): Parameters {
  const { meter } = PARAMETERS.tags;
  if (meter === undefined) throw new Error("no meter");
  return { ...PARAMETERS, tags: { ...PARAMETERS.tags, meter: { ...meter, ...extra } } };
}

describe("the mode during a gap", () => {
  const COARSE = metered({ counter: { step: 6, max_rate_per_h: 120, retained: true } });

  it.each([
    ["is inferred from the hour meter's rise within the gap, not before the gap", PARAMETERS, 10, 10, ["spray"]],
    ["is unknown if the hour meter counted too little", PARAMETERS, 10, 8, ["spray", "no_data", "spray"]],
    ["is unknown if one step of the hour meter is more than half the gap", COARSE, 8, 6, ["spray", "no_data", "spray"]],
    ["is inferred if one step of the hour meter is less than half the gap", COARSE, 13, 12, ["spray"]],
    ["is unknown if the hour meter cannot be read", PARAMETERS, 10, null, ["spray", "no_data", "spray"]],
    [
      "is inferred from an hour meter that counts tenths of a minute",
      metered({ factor: 0.1, counter: { step: 1, max_rate_per_h: 612, retained: true } }),
      10,
      100,
      ["spray"],
    ],
  ])("%s", (...[, parameters, minutes, meter, modes]) => {
    expect(over(parameters, minutes * MINUTE_MS - 1, { meter })).toEqual(modes);
  });
});

describe("a stage in which the counters but not the mode can be read", () => {
  /** Plays 90 s of spray without a readable mode; the hour meter rises all the time, or stands still. */
  const blind = (runs: boolean, cycles: number): readonly string[] => {
    const booth = script(PARAMETERS);
    const spray = (ms: number, mode: number | null, goes: boolean): void => {
      for (const end = booth.now + ms; booth.now < end;) {
        const meter = (goes ? booth.now : 5 * MINUTE_MS) / MINUTE_MS;
        stay(booth, 6_000, { mode, meter: Math.round(meter * 10) / 10 });
      }
    };
    poll(booth, { cycles: 5 });
    spray(5 * MINUTE_MS, 3, true);
    spray(6_000, null, runs);
    poll(booth, { cycles });
    spray(84_000, null, runs);
    live(booth, [6_000, { mode: 3, cycles }], [5 * MINUTE_MS, { mode: 0 }]);
    return valuesOf(run(booth, PARAMETERS).facts, "m").map(({ mode }) => mode);
  };

  it("continues only if the hour meter has risen since the last reading of the mode", () => {
    expect(blind(true, 5)).toEqual(["spray"]);
    expect(blind(false, 5)).toEqual(["spray", "no_data", "spray"]);
  });

  it("does not continue if a cycle was counted right after the last reading of the mode", () => {
    expect(blind(true, 6)).toEqual(["spray", "no_data", "spray"]);
  });
});

describe("a spray stage with a single reading before a silence", () => {
  const told = (): ReturnType<typeof run> => {
    const booth = lived(PLAIN, [10 * MINUTE_MS, { mode: 1 }]);
    poll(booth, { mode: 3 });
    live(booth, { gap_ms: 5 * MINUTE_MS }, [10 * MINUTE_MS, { mode: 6 }], [5 * MINUTE_MS, { mode: 0 }]);
    return run(booth, PLAIN);
  };

  it("exists with length 0 and starts a cycle, which a bake after the silence completes", () => {
    const { facts } = told();
    expect(valuesOf(facts, "m").map(({ mode, start, end }) => [mode, end - start])).toContainEqual(["spray", 0]);
    const [cycle] = valuesOf(facts, "c");
    expect(cycle).toMatchObject({
      start: T0 + 10 * MINUTE_MS,
      spray_ms: 0,
      counted: true,
      gap: true,
      result: "complete",
    });
  });
});

describe("a PLC restart", () => {
  it("ends the stage even if the mode is not read at the detection of the restart", () => {
    const booth = lived(PARAMETERS, [10 * MINUTE_MS, { mode: 3, uptime: 1000, cycles: 5, meter: 100 }]);
    live(booth, [10 * MINUTE_MS, { uptime: 5, cycles: 0, meter: 0 }], [MINUTE_MS, { mode: 0 }]);
    const stages = valuesOf(run(booth, PARAMETERS).facts, "m").map(({ mode, end, end_reason }) => [
      mode,
      (end - T0) / MINUTE_MS,
      end_reason,
    ]);
    expect(stages).toEqual([
      ["spray", 10, "restart"],
      ["spray", 20, "changed"],
    ]);
  });
});

describe("the present time", () => {
  function polled(): ReturnType<typeof run>["state"] {
    const booth = lived(PARAMETERS, [MINUTE_MS, { mode: 3 }]);
    return fold(booth.entries, PARAMETERS).state;
  }

  it.each([
    [T0 + 30_000, 30_000],
    [T0 + HOUR_MS, MINUTE_MS - 1],
  ])("advances only as far as polls prove (requested for %i, reached %i ms after the start)", (now, expected) => {
    const state = polled();
    const { clock, bays } = peek(state, now).state;
    expect(clock.now - T0).toBe(expected);
    expect(clock.mono - state.clock.mono).toBe(expected - (state.clock.now - T0));
    expect(bays[0]).toMatchObject({ live: true, good_until: T0 + expected });
  });
});

it("the incident of a gap in working hours contains the check's rule", () => {
  const shift = { day: "monday", enabled: true, start: "00:00:00", stop: "12:00:00" } as const;
  const parameters: Parameters = { ...PARAMETERS, working_hours: [shift] };
  const booth = lived(parameters, [MINUTE_MS, { mode: 1 }]);
  silence(booth, HOUR_MS);
  stay(booth, MINUTE_MS);
  const [gap] = valuesOf(run(booth, parameters).facts, "i").filter(({ check }) => check === "gap");
  expect(gap?.logic).toEqual({ op: "gap", duration_minutes: 5, working_hours_only: true });
});

describe("the removal record of a filter", () => {
  const OWN = uncounted(
    withFilters(
      { exhaust_filter: { limits: { minutes: 100 } } },
      { button: tag("filter_reset", "", { filter: "exhaust_filter" }) },
    ),
  );
  const record = (booth: Script) =>
    valuesOf(run(booth, OWN).facts, "f").flatMap(({ maintenance }) => (maintenance ? [maintenance] : []))[0];

  it("includes a second of spray that was not yet final when the filter was removed", () => {
    const booth = lived(OWN, [10 * MINUTE_MS, { mode: 1, button: false }], [1000, { mode: 3 }]);
    live(booth, [10 * MINUTE_MS, { button: true }], [10 * MINUTE_MS, { mode: 1 }]);
    expect(record(booth)).toMatchObject({ active_spray_ms: 1000, booth_in_use_ms: 1000 });
  });

  it("includes a cycle whose end before the removal is detected only later", () => {
    const booth = lived(OWN, [MINUTE_MS, { mode: 1, button: false }], [10 * MINUTE_MS, { mode: 3 }]);
    live(booth, [30_000, { mode: 1 }], [10 * MINUTE_MS, { button: true }]);
    expect(record(booth)).toMatchObject({ cycles: 1, active_spray_ms: 10 * MINUTE_MS });
  });

  it("includes a cycle that ends at the same instant as the removal", () => {
    const booth = lived(OWN, [MINUTE_MS, { mode: 1, button: false }], [10 * MINUTE_MS, { mode: 3 }]);
    stay(booth, 10 * MINUTE_MS, { mode: 1, button: true });
    expect(record(booth)).toMatchObject({ cycles: 1 });
    expect(exhaustFilter(booth, OWN)?.current.cycles).toBe(0);
  });

  it("is flagged only for a filter that was in the booth at first contact", () => {
    const booth = lived(OWN, [MINUTE_MS, { mode: 1, button: false }], [MINUTE_MS, { button: true }]);
    poll(booth);
    const flags = valuesOf(run(booth, OWN).facts, "f").map(({ source, flagged }) => [source, flagged]);
    expect(flags).toEqual([
      ["assumed", true],
      ["plc_reset", false],
    ]);
    expect(stageTexts(run(booth, OWN).facts)).toEqual([]);
  });
});
