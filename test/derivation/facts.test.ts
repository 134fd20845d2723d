import { describe, expect, it } from "vitest";
import type { Parameters } from "../../src/domain/parameters.ts";
import {
  enterFilter,
  fold,
  forget,
  poll,
  put,
  reboot,
  run,
  script,
  silence,
  stay,
  T0,
  valuesOf,
} from "../support/booth.ts";
import { exhaustFilter, incidentsOf, live, lived } from "../support/lives.ts";
import { PARAMETERS, PLAIN, tag, uncounted, withFilters } from "../support/parameters.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/domain/time.ts";

describe("incidents", () => {
  const sensed: Parameters = {
    ...PARAMETERS,
    tags: { ...PARAMETERS.tags, fan: tag("fan_speed", "%"), air: tag("air_temperature", "C") },
  };

  it("for an unknown time zone are resolved 10 min after a known time zone is set", () => {
    const unknown = { ...PLAIN, tz: "Mars/Olympus" };
    const booth = lived(unknown, [HOUR_MS, { mode: 1 }]);
    put(booth, { kind: "p", value: PLAIN });
    stay(booth, HOUR_MS, { mode: 0 });
    const facts = incidentsOf(booth, unknown, "config_tz");
    const resolved = facts.flatMap(({ resolved_at }) => (resolved_at === null ? [] : [resolved_at - T0]));
    expect(facts).toHaveLength(2);
    expect(resolved[0]).toBeGreaterThan(HOUR_MS + 9 * MINUTE_MS);
    expect(resolved[0]).toBeLessThanOrEqual(HOUR_MS + 10 * MINUTE_MS);
  });

  it("for a sensor that is no longer read stay open when other sensors are read", () => {
    const booth = lived(sensed, [2 * MINUTE_MS, { mode: 3, fan: 0, air: 20 }]);
    forget(booth);
    live(booth, [5000, { mode: 3, fan: 0, air: 20 }], [5000, { fan: null }]);
    for (let turn = 0; turn < 12; turn += 1) stay(booth, 5000, { air: 21 + turn });
    const facts = incidentsOf(booth, sensed, "cross");
    expect(facts.map(({ resolved_at }) => resolved_at)).toEqual([null]);
  });

  it("for a silence in working hours are resolved 10 min after the silent bay is read again", () => {
    const shift = { day: "monday", enabled: true, start: "00:00:00", stop: "12:00:00" } as const;
    const bays: Parameters = {
      ...PLAIN,
      working_hours: [shift],
      tags: { left: tag("mode", "", { bay: 1 }), right: tag("mode", "", { bay: 2, group: "slow" }) },
    };
    const booth = script(bays);
    poll(booth, { right: 1 }, "slow");
    stay(booth, MINUTE_MS, { left: 1 });
    // The right bay's group is silent for an hour.
    stay(booth, HOUR_MS);
    poll(booth, { right: 0 }, "slow");
    for (let turn = 0; turn < 200; turn += 1) {
      stay(booth, 10_000);
      poll(booth, {}, "slow");
    }
    const facts = incidentsOf(booth, bays, "gap");
    expect(facts.map(({ tag_name }) => tag_name)).toEqual(["right", "right"]);
    const resolved = (facts[1]?.resolved_at ?? 0) - T0;
    expect(Math.abs(resolved - (HOUR_MS + 11 * MINUTE_MS))).toBeLessThanOrEqual(MINUTE_MS);
  });

  it("opened by the checks stuck and unmapped stay open while no new records arrive", () => {
    const booth = lived(sensed, [30 * MINUTE_MS, { mode: 3, fan: 100, air: 21 }]);
    forget(booth);
    live(booth, [20 * MINUTE_MS, { mode: 3, fan: 100, air: 21 }], [30 * MINUTE_MS, { mode: 99 }]);
    const { facts } = fold(booth.entries, sensed, [6]);
    const still = valuesOf(facts, "i").map(({ check, resolved_at }) => [check, resolved_at]);
    expect(still).toEqual([
      ["stuck", null],
      ["unmapped", null],
    ]);
  });

  it("have a reason that is a readable sentence", () => {
    const booth = lived(sensed, [12 * HOUR_MS + MINUTE_MS, { mode: 3, air: 20 }], [MINUTE_MS, { mode: 5 }]);
    live(booth, [30_000, { mode: 3 }], [30_000, { mode: 5 }], [MINUTE_MS, { mode: 6 }]);
    const reasons = valuesOf(run(booth, sensed).facts, "i").map(({ reason }) => reason);
    expect(reasons).toContain("spray has lasted for over 12 h");
    put(booth, { kind: "t", value: { wall: T0 + booth.now + 7500, state: "synced", witness: "service" } });
    live(booth, [30 * MINUTE_MS, { mode: 20 }], [30_000, { mode: 5 }], [MINUTE_MS, { mode: 6 }]);
    const later = valuesOf(run(booth, sensed).facts, "i").map(({ reason }) => reason);
    expect(later).toContain("the gateway's clock was put by 7.5 s");
    expect(later).toContain("purge took 30 s before a bake");
  });
});

describe("stages", () => {
  it("are final as soon as they have lasted for min_stage", () => {
    const booth = script(PLAIN);
    poll(booth, { mode: 3 });
    booth.now = 2000;
    poll(booth, { other: 1 });
    expect(fold(booth.entries, PLAIN).state.bays[0]).toMatchObject({ settled: T0 + 2000, open: { entered: true } });
  });

  it("with a single reading between two gaps become part of the time without data", () => {
    const booth = lived(PLAIN, [MINUTE_MS, { mode: 3 }], { gap_ms: MINUTE_MS });
    poll(booth, { mode: 4 });
    live(booth, { gap_ms: MINUTE_MS }, [MINUTE_MS, { mode: 3 }], [MINUTE_MS, { mode: 1 }]);
    const stages = valuesOf(run(booth, PLAIN).facts, "m").map(({ mode, end, start }) => [mode, end - start]);
    expect(stages).toEqual([
      ["spray", MINUTE_MS - 1],
      ["no_data", 2 * MINUTE_MS + 1],
      ["spray", MINUTE_MS],
    ]);
  });

  it("do not end when the PLC's uptime is first read, even right after the stage's start", () => {
    const booth = lived(PARAMETERS, [10 * MINUTE_MS, { mode: 3 }]);
    poll(booth, { mode: 4 });
    booth.now += 1000;
    poll(booth, { uptime: 5 });
    live(booth, [10 * MINUTE_MS, { mode: 4 }], [10 * MINUTE_MS, { mode: 1 }]);
    const { facts } = fold(booth.entries, PARAMETERS, [6]);
    expect(valuesOf(facts, "m").map(({ end_reason }) => end_reason)).toEqual(["changed", "changed"]);
    expect(valuesOf(facts, "c").map(({ result }) => result)).toEqual(["complete_no_bake"]);
  });

  it.each([
    [15_000, 1],
    [15_001, 3],
  ])(
    "are split by a gateway restart only if reading resumes too late (after %i ms: %i stage(s) of spray and no_data)",
    (away, count) => {
      const booth = lived(PLAIN, [MINUTE_MS + 1, { mode: 3 }], { gap_ms: away - 1 });
      const from = booth.entries.length;
      live(booth, [MINUTE_MS, { mode: 3 }], [MINUTE_MS, { mode: 1 }]);
      reboot(booth, from);
      const stages = valuesOf(fold(booth.entries, PLAIN, [4]).facts, "m").filter(({ mode }) => mode !== "idle");
      expect(stages).toHaveLength(count);
      expect(stages.at(-1)?.end).toBe(T0 + 2 * MINUTE_MS + away);
    },
  );

  it("combined from two bays count a bay's inferred time as uncertain time", () => {
    const bays: Parameters = {
      ...PLAIN,
      tags: { left: tag("mode", "", { bay: 1 }), right: tag("mode", "", { bay: 2 }) },
    };
    const booth = lived(bays, [10 * MINUTE_MS, { left: 3, right: 1 }]);
    put(booth, { kind: "t", value: { wall: T0 + booth.now + HOUR_MS, state: "synced", witness: "service" } });
    live(booth, [10 * MINUTE_MS], [MINUTE_MS, { left: 1 }]);
    const stages = valuesOf(run(booth, bays).facts, "m").filter(({ bay, mode }) => bay === 0 && mode === "spray");
    expect(stages).toMatchObject([{ start: T0, end: T0 + 80 * MINUTE_MS, uncertain_ms: HOUR_MS }]);
  });

  it("do not cover a gap that lasts over 12 h by the monotonic or the corrected clock", () => {
    const booth = lived(PLAIN, [HOUR_MS, { mode: 3 }]);
    silence(booth, 11 * HOUR_MS);
    put(booth, { kind: "t", value: { wall: T0 + booth.now + 2 * HOUR_MS, state: "synced", witness: "service" } });
    const value = { group: "fast", from: 0, to: 0, polls: 0, max_interval_ms: 0 };
    put(booth, { kind: "h", value });
    const bays = fold(booth.entries, PLAIN).state.bays;
    expect(bays[0]?.gap?.expired).toBe(true);
  });
});

describe("filters", () => {
  const parameters = uncounted(withFilters({ exhaust_filter: { limits: { minutes: 3000 } } }));
  it("an entry dated back divides use, spray time and cycles between the old and the new filter", () => {
    const booth = script(parameters);
    enterFilter(booth, 0);
    live(booth, [30 * MINUTE_MS, { mode: 3 }], [10 * MINUTE_MS, { mode: 6 }], [30 * MINUTE_MS, { mode: 1 }]);
    live(booth, [20 * MINUTE_MS, { mode: 3 }], [30 * MINUTE_MS, { mode: 1 }]);
    enterFilter(booth, 50 * MINUTE_MS);
    stay(booth, 5 * MINUTE_MS);
    const filter = exhaustFilter(booth, parameters);
    expect(filter?.former).toMatchObject({ in_use_ms: 40 * MINUTE_MS, spray_ms: 30 * MINUTE_MS, cycles: 1 });
    expect(filter?.current).toMatchObject({ in_use_ms: 20 * MINUTE_MS, spray_ms: 20 * MINUTE_MS, cycles: 1 });
  });

  it("a filter that is removed at the instant of its limit is not in overuse", () => {
    const short = withFilters({ exhaust_filter: { limits: { minutes: 30 } } });
    const booth = script(short);
    enterFilter(booth, 0);
    stay(booth, 30 * MINUTE_MS, { mode: 3 });
    enterFilter(booth, 30 * MINUTE_MS);
    stay(booth, 10 * MINUTE_MS);
    const records = valuesOf(run(booth, short).facts, "f").flatMap(({ maintenance }) => maintenance ?? []);
    expect(records.at(-1)).toMatchObject({ overuse_since: null, overuse_ms: 0, service: "on_time" });
  });

  it.each([
    [{ days: 2 }, 2 * 24 * HOUR_MS + MINUTE_MS],
    [{ days: 3 }, undefined],
    [{ pressure_pa: 99 }, 2 * 24 * HOUR_MS + MINUTE_MS],
    [{ pressure_pa: 100 }, undefined],
  ])(
    "new limits %j for a filter 100 Pa over its clean pressure drop and 2 days old start overuse at %s ms",
    (limits, since) => {
      const sensor = { drop: tag("filter_pressure", "Pa", { filter: "exhaust_filter" }) };
      const limited = (all: object) => withFilters({ exhaust_filter: { limits: all, baseline_pa: 50 } }, sensor);
      const booth = script(limited({}));
      enterFilter(booth, 0);
      for (let turn = 0; turn < 2; turn += 1) {
        live(booth, [10 * MINUTE_MS, { mode: 3, drop: 150 }], [10 * MINUTE_MS, { mode: 1 }]);
      }
      stay(booth, 2 * 24 * HOUR_MS + MINUTE_MS - booth.now);
      put(booth, { kind: "p", value: limited(limits) });
      stay(booth, 10 * MINUTE_MS);
      const [episode] = fold(booth.entries, limited({}), [6]).state.filters.exhaust_filter?.current.overuse ?? [];
      expect(episode === undefined ? undefined : episode.since - T0).toBe(since);
    },
  );

  it("two entries for changes in the past leave one removal record each", () => {
    const booth = script(parameters);
    enterFilter(booth, 0);
    stay(booth, HOUR_MS, { mode: 3 });
    enterFilter(booth, 20 * MINUTE_MS);
    enterFilter(booth, 40 * MINUTE_MS);
    stay(booth, 10 * MINUTE_MS, { mode: 1 });
    const removals = valuesOf(run(booth, parameters).facts, "f").flatMap(({ maintenance }) => maintenance ?? []);
    expect(removals.slice(-2).map(({ removed_at, booth_in_use_ms }) => [removed_at - T0, booth_in_use_ms])).toEqual([
      [20 * MINUTE_MS, 20 * MINUTE_MS],
      [40 * MINUTE_MS, 20 * MINUTE_MS],
    ]);
  });
});
