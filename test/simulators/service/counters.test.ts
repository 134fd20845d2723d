import { describe, expect, it } from "vitest";
import { booked } from "../../../simulators/service/figures/counters.ts";
import { cycleCount } from "../../../simulators/service/figures/summary.ts";
import { workingSpans } from "../../../simulators/service/figures/working-hours.ts";
import { fromWall } from "../../../simulators/service/base/zone.ts";
import { COUNTING, EPOCH, figuresOf, HOUR, MINUTE, script } from "./service-log.ts";

const window = { start: EPOCH, end: EPOCH + 100 * HOUR };

const cycles = (values: readonly number[], parameters = COUNTING) => {
  const log = script(parameters).stage("idle", MINUTE);
  for (const value of values) log.set("cycle_count", value).wait(MINUTE);
  return figuresOf(log);
};

describe("counters of the reference service", () => {
  it.each<[string, readonly number[], { kinds: readonly string[]; total: number }]>([
    ["ordinary increments", [5, 6, 7], { kinds: ["normal", "normal"], total: 2 }],
    ["a wrap", [65_535, 0, 1], { kinds: ["wrap", "normal"], total: 2 }],
    ["a reset to a small value", [500, 0, 1], { kinds: ["reset", "normal"], total: 1 }],
    ["a jump beyond the highest rate", [5, 900, 901], { kinds: ["unexplained", "normal"], total: 1 }],
    ["a fall that nothing explains", [500, 300, 301], { kinds: ["unexplained", "normal"], total: 1 }],
  ])("%s", (_, values, { kinds, total }) => {
    const figures = cycles(values);
    expect(figures.plc_cycles?.map((entry) => entry.kind)).toEqual(kinds);
    expect(cycleCount(figures, window)).toBe(total);
  });

  it("allows more after a silence", () => {
    const log = script(COUNTING)
      .stage("idle", MINUTE)
      .set("cycle_count", 5)
      .silence(2 * HOUR)
      .set("cycle_count", 15)
      .stage("idle", MINUTE);
    expect(cycleCount(figuresOf(log), window)).toBe(10);
  });

  it("books gas and energy where they were read", () => {
    const log = script()
      .set("gas", 1)
      .set("energy", 10)
      .stage("spray", MINUTE)
      .set("gas", 1.01)
      .set("energy", 10.1)
      .wait(MINUTE)
      .set("gas", 1.02)
      .wait(MINUTE);
    const figures = figuresOf(log);
    expect(booked(figures.gas, window)).toBeCloseTo(0.02, 9);
    expect(booked(figures.gas, { start: EPOCH, end: EPOCH + 2 * MINUTE })).toBeCloseTo(0.01, 9);
    expect(booked(figures.kwh, window)).toBeCloseTo(0.1, 9);
  });
});

describe("revisions of the reference service", () => {
  it("enters a value once it was read unchanged for 60 s, from its first reading", () => {
    const log = script()
      .set("firmware_version", "1.0")
      .stage("idle", 5 * MINUTE)
      .set("firmware_version", "")
      .wait(MINUTE);
    log
      .set("firmware_version", "1.1\u0000")
      .wait(MINUTE)
      .set("firmware_version", "0.9")
      .wait(59_000)
      .set("firmware_version", "1.1")
      .wait(MINUTE);
    log.silence(HOUR).set("firmware_version", "1.1").wait(MINUTE).set("firmware_version", "1.0").wait(MINUTE);
    const { firmware } = figuresOf(log).revisions;
    expect(
      firmware.map(({ values, first_seen_at, initial }) => [values[0], (first_seen_at - EPOCH) / MINUTE, initial]),
    ).toEqual([
      ["1.0", 0, true],
      ["1.1", 7 + 59 / 60, false],
      ["1.0", 7 + 59 / 60 + 62, false],
    ]);
  });

  it("takes program and revision as one", () => {
    const log = script()
      .set("plc_program", "SPRAY")
      .wait(1000)
      .set("plc_program_revision", "14C")
      .stage("idle", 5 * MINUTE);
    log.set("plc_program_revision", "14D").wait(2 * MINUTE);
    expect(figuresOf(log).revisions.program.map((entry) => entry.values)).toEqual([
      ["SPRAY", "14C"],
      ["SPRAY", "14D"],
    ]);
  });
});

describe("working hours", () => {
  const length = (day: string): number => {
    const start = fromWall("America/Denver", Date.parse(`${day}T00:00:00Z`));
    const shift = { day: "sunday", enabled: true, start: "00:00:00", stop: "06:00:00" } as const;
    const [span] = workingSpans("America/Denver", [shift], { start, end: start + 20 * HOUR });
    return ((span?.end ?? 0) - (span?.start ?? 0)) / MINUTE;
  };
  it("follow the day's own rules in a night shift", () => {
    expect([length("2026-03-08"), length("2026-11-01"), length("2026-06-07")]).toEqual([300, 420, 360]);
  });

  it("run past midnight and are united", () => {
    const shifts = [
      { day: "monday", enabled: true, start: "22:00:00", stop: "06:00:00" },
      { day: "tuesday", enabled: true, start: "05:00:00", stop: "07:00:00" },
      { day: "tuesday", enabled: false, start: "09:00:00", stop: "10:00:00" },
    ] as const;
    const spans = workingSpans("UTC", shifts, { start: Date.UTC(2026, 2, 2), end: Date.UTC(2026, 2, 4) });
    expect(spans).toEqual([{ start: Date.UTC(2026, 2, 2, 22), end: Date.UTC(2026, 2, 3, 7) }]);
  });
});
