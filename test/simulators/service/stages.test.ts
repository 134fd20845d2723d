import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { msByMode, startsByMode } from "../../../simulators/service/figures/window.ts";
import { utilization } from "../../../simulators/service/figures/summary.ts";
import { COUNTING, EPOCH, figuresOf, HOUR, MINUTE, PARAMETERS, script, type Script } from "./service-log.ts";

const minutesOf = (log: Script, after = 0): Record<string, number> => {
  const { stages, now } = figuresOf(log, after);
  return Object.fromEntries([...msByMode(stages, { start: EPOCH, end: now })].map(([mode, ms]) => [mode, ms / MINUTE]));
};

const standardCycle = (log: Script): Script =>
  log
    .stage("prep", 8 * MINUTE)
    .stage("spray", 12 * MINUTE)
    .stage("flash", 6 * MINUTE)
    .stage("spray", 12 * MINUTE)
    .stage("flash", 6 * MINUTE)
    .stage("spray", 10 * MINUTE)
    .stage("purge", 3 * MINUTE)
    .stage("bake", 30 * MINUTE)
    .stage("cool_down", 10 * MINUTE)
    .stage("idle", 3 * MINUTE);

describe("stages of the reference service", () => {
  it("splits the standard cycle as it was run", () => {
    expect(minutesOf(standardCycle(script()))).toEqual({
      prep: 8,
      spray: 34,
      flash: 12,
      purge: 3,
      bake: 30,
      cool_down: 10,
      idle: 3,
    });
    const figures = figuresOf(standardCycle(script()));
    expect(figures.cycles).toMatchObject([{ result: "complete", end: EPOCH + 87 * MINUTE, spray_ms: 34 * MINUTE }]);
    const calendar = {
      tz: "America/Chicago",
      working_hours: [{ day: "monday", enabled: true, start: "08:00:00", stop: "09:00:00" }] as const,
    };
    expect(utilization(figures, calendar, { start: EPOCH, end: EPOCH + 100 * MINUTE })).toMatchObject({
      utilization_minutes: 79,
      working_minutes: 60,
      utilization_pct: 86.6667,
      overtime_minutes: 27,
      cycle_count: 1,
    });
  });

  it("of mode bits that are on at once the first counts", () => {
    const log = script({ ...PARAMETERS, modes: { none: "idle", spray: "spray", bake: "bake" } });
    log.set("mode", "spray").wait(5 * MINUTE);
    log.set("mode", "bake & spray").wait(10 * MINUTE);
    log.set("mode", "none").wait(MINUTE);
    log.set("mode", "maintenance & spray").wait(2 * MINUTE);
    expect(minutesOf(log)).toEqual({ spray: 5, bake: 10, idle: 1, unknown: 2 });
  });

  it("bridges a gap of 15 s and not one of 15.001 s", () => {
    const log = (gap: number): Script =>
      script()
        .stage("spray", MINUTE)
        .silence(gap)
        .stage("spray", MINUTE - gap);
    expect(minutesOf(log(15_000))).toEqual({ spray: 2 });
    expect(minutesOf(log(15_001))).toEqual({ spray: (2 * MINUTE - 15_001) / MINUTE, no_data: 15_001 / MINUTE });
  });

  it("attributes a longer gap where both counters prove the mode", () => {
    const log = (meter: number, cycles: number): Script =>
      script(COUNTING)
        .set("run_minutes", 100)
        .set("cycle_count", 7)
        .stage("spray", 10 * MINUTE)
        .set("run_minutes", 110)
        .silence(40 * MINUTE)
        .set("run_minutes", meter)
        .set("cycle_count", cycles)
        .stage("spray", 10 * MINUTE);
    expect(minutesOf(log(150, 7))).toEqual({ spray: 60 });
    expect(minutesOf(log(154, 7))).toEqual({ spray: 60 });
    expect(minutesOf(log(154.5, 7))).toEqual({ spray: 20, no_data: 40 });
    expect(minutesOf(log(150, 8))).toEqual({ spray: 20, no_data: 40 });
    expect(minutesOf(log(110, 7))).toEqual({ spray: 20, no_data: 40 });
  });

  it("attributes no gap over which the meter began anew, however little it had counted", () => {
    const log = (before: number, after: number): Script =>
      script(COUNTING)
        .set("run_minutes", before)
        .set("cycle_count", 0)
        .stage("idle", 10 * MINUTE)
        .silence(40 * MINUTE)
        .set("run_minutes", after)
        .set("cycle_count", 0)
        .stage("idle", 10 * MINUTE);
    expect(minutesOf(log(1, 1))).toEqual({ idle: 60 });
    expect(minutesOf(log(1, 0))).toEqual({ idle: 20, no_data: 40 });
  });

  it("attributes no gap after which a counter is bad at first", () => {
    const log = (bad: boolean): Script => {
      const life = script(COUNTING)
        .set("run_minutes", 1)
        .set("cycle_count", 0)
        .stage("idle", 10 * MINUTE)
        .silence(40 * MINUTE);
      if (bad) life.set("cycle_count", null).stage("idle", 5000);
      return life
        .set("run_minutes", 1)
        .set("cycle_count", 0)
        .stage("idle", 10 * MINUTE - (bad ? 5000 : 0));
    };
    expect(minutesOf(log(false))).toEqual({ idle: 60 });
    expect(minutesOf(log(true))).toEqual({ idle: 20, no_data: 40 });
  });

  it("infers nothing beyond 12 h", () => {
    const log = (hours: number): Script =>
      script(COUNTING)
        .set("run_minutes", 0)
        .set("cycle_count", 7)
        .stage("idle", MINUTE)
        .silence(hours * HOUR)
        .set("run_minutes", 0)
        .set("cycle_count", 7)
        .stage("idle", MINUTE);
    expect(minutesOf(log(12))).toEqual({ idle: 722 });
    expect(minutesOf(log(12.1))).toEqual({ idle: 2, no_data: 12.1 * 60 });
  });

  it("takes a gap over a mode change, and a bad mode reading, for no data", () => {
    expect(minutesOf(script().stage("spray", MINUTE).silence(HOUR).stage("idle", MINUTE))).toEqual({
      spray: 1,
      no_data: 60,
      idle: 1,
    });
    expect(
      minutesOf(
        script()
          .stage("spray", MINUTE)
          .set("mode", null)
          .wait(5 * MINUTE)
          .stage("spray", MINUTE),
      ),
    ).toEqual({ spray: 2, no_data: 5 });
  });

  it("merges a stage shorter than min_stage into its successor, but never a fault", () => {
    expect(
      minutesOf(
        script()
          .stage("spray", MINUTE)
          .stage("flash", 1999)
          .stage("spray", MINUTE - 1999),
      ),
    ).toEqual({ spray: 2 });
    expect(
      minutesOf(
        script()
          .stage("spray", MINUTE)
          .stage("flash", 1000)
          .stage("purge", MINUTE - 1000),
      ),
    ).toEqual({ spray: 1, purge: 1 });
    expect(minutesOf(script().stage("spray", MINUTE).stage("fault", 1000).stage("off", MINUTE))).toEqual({
      spray: 1,
      fault: 1 / 60,
      off: 1,
    });
  });

  it("takes a single reading between two silences for no stage, though it may show that the PLC had restarted", () => {
    const log = script()
      .set("uptime_s", 50_000)
      .stage("spray", 10 * MINUTE)
      .silence(20 * MINUTE)
      .set("uptime_s", 5)
      .stage("off", 0)
      .silence(10 * MINUTE)
      .set("uptime_s", 605)
      .stage("idle", 5 * MINUTE);
    const { stages, cycles } = figuresOf(log);
    expect(stages.map(({ mode, start, end }) => [mode, (end - start) / MINUTE])).toEqual([
      ["spray", 10],
      ["no_data", 30],
      ["idle", 5],
    ]);
    expect(cycles).toMatchObject([{ result: "aborted", reason: "plc_restart", end: EPOCH + 10 * MINUTE }]);
  });

  it("keeps a single reading before a silence, and a fault between two", () => {
    const log = script().stage("spray", MINUTE).stage("flash", 0).silence(MINUTE);
    log.stage("fault", 0).silence(MINUTE).stage("idle", MINUTE);
    const { stages } = figuresOf(log);
    expect(stages.map(({ mode, start, end }) => [mode, (end - start) / MINUTE])).toEqual([
      ["spray", 1],
      ["flash", 0],
      ["no_data", 1],
      ["fault", 0],
      ["no_data", 1],
      ["idle", 1],
    ]);
  });

  it("counts no new start after no data into the same mode", () => {
    const { stages, now } = figuresOf(
      script().stage("spray", MINUTE).silence(HOUR).stage("spray", MINUTE).silence(HOUR).stage("idle", MINUTE),
    );
    const counts = startsByMode(stages, { start: EPOCH, end: now });
    expect([counts.get("spray"), counts.get("idle")]).toEqual([1, 1]);
  });

  it("counts the open stage up to the last good reading plus the bridge", () => {
    expect(minutesOf(script().stage("spray", MINUTE), 10_000)).toEqual({ spray: 70 / 60 });
    expect(minutesOf(script().stage("spray", MINUTE), 45_000)).toEqual({ spray: 75 / 60, no_data: 0.5 });
  });

  it("keeps an unmapped code apart", () => {
    expect(minutesOf(script(PARAMETERS).code(99, MINUTE).stage("idle", MINUTE))).toEqual({ unknown: 1, idle: 1 });
  });

  it("conserves time and adds counts up, whatever happened", () => {
    const step = fc.oneof(
      fc.record({
        stage: fc.constantFrom("off", "idle", "spray", "flash", "purge", "bake", "cool_down", "fault"),
        ms: fc.integer({ min: 1, max: 40 * MINUTE }),
      }),
      fc.record({ silence: fc.integer({ min: 1, max: 20 * MINUTE }) }),
    );
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 20 }), fc.nat(1000), (steps, cut) => {
        const log = script().stage("idle", MINUTE);
        for (const item of steps)
          if ("stage" in item) log.stage(item.stage, item.ms);
          else log.silence(item.silence);
        const { stages, now } = figuresOf(log.stage("idle", 1000), 60_000);
        const window = { start: EPOCH - HOUR, end: now };
        const middle = Math.round(window.start + ((now - window.start) * cut) / 1000);
        const parts = [
          { start: window.start, end: middle },
          { start: middle, end: now },
        ];
        const sum = (map: Map<unknown, number>): number => [...map.values()].reduce((a, b) => a + b, 0);
        expect(sum(msByMode(stages, window))).toBe(now - window.start);
        expect(parts.map((part) => sum(startsByMode(stages, part))).reduce((a, b) => a + b)).toBe(
          sum(startsByMode(stages, window)),
        );
        stages.slice(1).forEach((stage, i) => expect(stage.start).toBe(stages[i]?.end));
      }),
      { numRuns: 60 },
    );
  });
});
