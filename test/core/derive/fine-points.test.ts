import { describe, expect, it } from "vitest";
import type { Parameters } from "../../../src/core/types/parameters.ts";
import { fold, forget, poll, put, run, script, silence, stay, T0, valuesOf } from "../../support/booth.ts";
import { PARAMETERS, PLAIN, tag, withFilters } from "../../support/parameters.ts";

/** Worked examples of what the other tests would let pass: each one found a planted fault that survived them. */
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe("incidents", () => {
  const sensed: Parameters = {
    ...PARAMETERS,
    tags: { ...PARAMETERS.tags, fan: tag("fan_speed", "%"), air: tag("air_temperature", "C") },
  };

  it("a zone that nobody knows stays one until another comes, and 10 min longer", () => {
    const unknown = { ...PLAIN, tz: "Mars/Olympus" };
    const booth = script(unknown);
    stay(booth, HOUR, { mode: 1 });
    put(booth, { kind: "p", value: PLAIN });
    stay(booth, HOUR, { mode: 0 });
    const facts = valuesOf(fold(booth.entries, unknown, [6]).facts, "i").filter(({ check }) => check === "config_tz");
    const resolved = facts.flatMap(({ resolved_at }) => (resolved_at === null ? [] : [resolved_at - T0]));
    expect(facts).toHaveLength(2);
    expect(resolved[0]).toBeGreaterThan(HOUR + 9 * MINUTE);
    expect(resolved[0]).toBeLessThanOrEqual(HOUR + 10 * MINUTE);
  });

  it("what isn't read is no good evaluation: other readings resolve nothing", () => {
    const booth = script(sensed);
    stay(booth, 2 * MINUTE, { mode: 3, fan: 0, air: 20 });
    forget(booth);
    stay(booth, 5000, { mode: 3, fan: 0, air: 20 });
    stay(booth, 5000, { fan: null });
    for (let turn = 0; turn < 12; turn += 1) stay(booth, 5000, { air: 21 + turn });
    const facts = valuesOf(fold(booth.entries, sensed, [6]).facts, "i").filter(({ check }) => check === "cross");
    expect(facts.map(({ resolved_at }) => resolved_at)).toEqual([null]);
  });

  it("a silence in working hours lasts as long as its own bay is silent, and 10 min longer", () => {
    const shift = { day: "monday", enabled: true, start: "00:00:00", stop: "12:00:00" } as const;
    const bays: Parameters = {
      ...PLAIN,
      working_hours: [shift],
      tags: { left: tag("mode", "", { bay: 1 }), right: tag("mode", "", { bay: 2, group: "slow" }) },
    };
    const booth = script(bays);
    poll(booth, { right: 1 }, "slow");
    stay(booth, MINUTE, { left: 1 });
    // The right bay's group is silent for an hour.
    stay(booth, HOUR);
    poll(booth, { right: 0 }, "slow");
    for (let turn = 0; turn < 200; turn += 1) {
      stay(booth, 10_000);
      poll(booth, {}, "slow");
    }
    const facts = valuesOf(fold(booth.entries, bays, [6]).facts, "i").filter(({ check }) => check === "gap");
    expect(facts.map(({ tag_name }) => tag_name)).toEqual(["right", "right"]);
    const resolved = (facts[1]?.resolved_at ?? 0) - T0;
    expect(Math.abs(resolved - (HOUR + 11 * MINUTE))).toBeLessThanOrEqual(MINUTE);
  });

  it("say in words what is wrong", () => {
    const booth = script(sensed);
    stay(booth, 12 * HOUR + MINUTE, { mode: 3, air: 20 });
    stay(booth, MINUTE, { mode: 5 });
    stay(booth, 30_000, { mode: 3 });
    stay(booth, 30_000, { mode: 5 });
    stay(booth, MINUTE, { mode: 6 });
    const reasons = valuesOf(run(booth, sensed).facts, "i").map(({ reason }) => reason);
    expect(reasons).toContain("spray has lasted for over 12 h");
    put(booth, { kind: "t", value: { wall: T0 + booth.now + 7500, state: "synced", witness: "service" } });
    stay(booth, 30 * MINUTE, { mode: 20 });
    stay(booth, 30_000, { mode: 5 });
    stay(booth, MINUTE, { mode: 6 });
    const later = valuesOf(run(booth, sensed).facts, "i").map(({ reason }) => reason);
    expect(later).toContain("the gateway's clock was put by 7.5 s");
    expect(later).toContain("purge took 30 s before a bake");
  });
});

describe("stages", () => {
  it("one that has lasted min_stage is final at that very instant", () => {
    const booth = script(PLAIN);
    poll(booth, { mode: 3 });
    booth.now = 2000;
    poll(booth, { other: 1 });
    expect(fold(booth.entries, PLAIN).state.bays[0]).toMatchObject({ settled: T0 + 2000, open: { entered: true } });
  });

  it("the first reading of an uptime is no restart, though a stage has just begun", () => {
    const booth = script(PARAMETERS);
    stay(booth, 10 * MINUTE, { mode: 3 });
    poll(booth, { mode: 4 });
    booth.now += 1000;
    poll(booth, { uptime: 5 });
    stay(booth, 10 * MINUTE, { mode: 4 });
    stay(booth, 10 * MINUTE, { mode: 1 });
    const { facts } = fold(booth.entries, PARAMETERS, [6]);
    expect(valuesOf(facts, "m").map(({ end_reason }) => end_reason)).toEqual(["changed", "changed"]);
    expect(valuesOf(facts, "c").map(({ result }) => result)).toEqual(["complete_no_bake"]);
  });

  it("over 12 h by either clock nothing is inferred any more", () => {
    const booth = script(PLAIN);
    stay(booth, HOUR, { mode: 3 });
    silence(booth, 11 * HOUR);
    put(booth, { kind: "t", value: { wall: T0 + booth.now + 2 * HOUR, state: "synced", witness: "service" } });
    const value = { group: "fast", from: 0, to: 0, polls: 0, max_interval_ms: 0 };
    put(booth, { kind: "h", value });
    const bays = fold(booth.entries, PLAIN).state.bays;
    expect(bays[0]?.gap?.expired).toBe(true);
  });
});

describe("filters", () => {
  const parameters = withFilters({ exhaust_filter: { limits: { minutes: 3000 } } });
  const enter = (at: number) =>
    ({
      kind: "f",
      value: { filter: "exhaust_filter", source: "technician", installed_at: T0 + at, flagged: false },
    }) as const;

  it("an entry dated back shares use, spray and cycles between the two", () => {
    const booth = script(parameters);
    put(booth, enter(0));
    stay(booth, 30 * MINUTE, { mode: 3 });
    stay(booth, 10 * MINUTE, { mode: 6 });
    stay(booth, 30 * MINUTE, { mode: 1 });
    stay(booth, 20 * MINUTE, { mode: 3 });
    stay(booth, 30 * MINUTE, { mode: 1 });
    put(booth, enter(50 * MINUTE));
    stay(booth, 5 * MINUTE);
    const filter = run(booth, parameters).state.filters.exhaust_filter;
    expect(filter?.former).toMatchObject({ in_use_ms: 40 * MINUTE, spray_ms: 30 * MINUTE, cycles: 1 });
    expect(filter?.current).toMatchObject({ in_use_ms: 20 * MINUTE, spray_ms: 20 * MINUTE, cycles: 1 });
  });

  it("36 h are remembered however often the mode was read", () => {
    const booth = script(parameters);
    put(booth, enter(0));
    stay(booth, 30 * MINUTE, { mode: 3 });
    stay(booth, 20 * HOUR, { mode: 1 });
    put(booth, enter(15 * MINUTE));
    stay(booth, MINUTE);
    const filter = fold(booth.entries, parameters, [4]).state.filters.exhaust_filter;
    expect(filter?.current.in_use_ms).toBe(15 * MINUTE);
  });

  it("two changes at once leave a record each", () => {
    const booth = script(parameters);
    put(booth, enter(0));
    stay(booth, HOUR, { mode: 3 });
    put(booth, enter(20 * MINUTE));
    put(booth, enter(40 * MINUTE));
    stay(booth, 10 * MINUTE, { mode: 1 });
    const removals = valuesOf(run(booth, parameters).facts, "f").flatMap(({ maintenance }) => maintenance ?? []);
    expect(removals.slice(-2).map(({ removed_at, booth_in_use_ms }) => [removed_at - T0, booth_in_use_ms])).toEqual([
      [20 * MINUTE, 20 * MINUTE],
      [40 * MINUTE, 20 * MINUTE],
    ]);
  });
});
