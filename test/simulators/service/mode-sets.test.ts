import { describe, expect, it } from "vitest";
import { timeIn } from "../../../simulators/service/figures/mode-sets.ts";
import { runtimeMs, utilization } from "../../../simulators/service/figures/summary.ts";
import { EPOCH, figuresOf, HOUR, MINUTE, PARAMETERS, script } from "./service-log.ts";

const { mode_sets } = PARAMETERS;

describe("changed mode sets (which modes count as in use)", () => {
  it("apply only to the time after the change", () => {
    const log = script()
      .stage("spray", 10 * MINUTE)
      .stage("cool_down", 10 * MINUTE);
    log.record("p", { ...PARAMETERS, mode_sets: { ...mode_sets, in_use: ["cool_down"], runtime: ["idle"] } });
    const figures = figuresOf(
      log
        .wait(5 * MINUTE)
        .stage("spray", 20 * MINUTE)
        .stage("idle", 3 * MINUTE),
    );
    expect(timeIn(figures, "in_use").map(({ start, end }) => [start - EPOCH, end - EPOCH])).toEqual([
      [0, 10 * MINUTE],
      [20 * MINUTE, 25 * MINUTE],
    ]);
    const window = { start: EPOCH, end: EPOCH + HOUR };
    const calendar = { tz: "UTC", working_hours: [] };
    expect(utilization(figures, calendar, window)).toMatchObject({ utilization_minutes: 15, overtime_minutes: 15 });
    expect(runtimeMs(figures, window)).toBe(23 * MINUTE);
  });
});
