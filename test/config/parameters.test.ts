import { describe, expect, it } from "vitest";
import { completeModeSets, parametersOf, unknownGroups } from "../../src/config/parameters.ts";
import { withService } from "../../src/acquisition/rules/parameters-in-force.ts";
import type { ModeSets } from "../../src/domain/booth.ts";
import type { BoothConfig } from "../../src/config/port.ts";
import { PARAMETERS, withFilters } from "../support/parameters.ts";
import { clickBooth } from "../support/profiles.ts";
import { serviceRecord } from "../support/service-record.ts";

const CONFIG: BoothConfig = {
  id: "b",
  profile: "click-booth",
  poll: {},
  bay_count: 1,
  filters: {},
  tz: "America/Denver",
  working_hours: [],
  modbus: { host: "127.0.0.1", port: 502, framing: "tcp" },
};

describe("parametersOf", () => {
  it.each<[string, Partial<ModeSets>, NonNullable<BoothConfig["mode_sets"]>, Partial<ModeSets>]>([
    [
      "sets derived by default change with in_use",
      { in_use: ["spray"] },
      { in_use: ["spray", "bake"] },
      { run: ["spray", "bake", "cool_down"], runtime: ["spray", "bake", "cool_down"] },
    ],
    [
      "run set by the profile and the runtime derived from it stay if in_use changes",
      { in_use: ["spray"], run: ["spray", "prep"] },
      { in_use: ["bake"] },
      { in_use: ["bake"], run: ["spray", "prep"], runtime: ["spray", "prep"] },
    ],
    [
      "runtime set by the profile stays if only run changes",
      { in_use: ["spray"], runtime: ["bake"] },
      { run: ["prep"] },
      { run: ["prep"], runtime: ["bake"] },
    ],
  ])("combines a booth's mode sets with the mode sets of its profile: %s", (...[, profile, override, expected]) => {
    const booth = { ...CONFIG, mode_sets: override };
    const parameters = parametersOf({ ...clickBooth(), mode_sets: completeModeSets(profile) }, booth);
    expect(parameters.mode_sets).toMatchObject(expected);
  });
});

it("parametersOf takes motor and burner sizes from the booth's configuration, and omits missing sizes", () => {
  const sized = parametersOf(clickBooth(), { ...CONFIG, motor_size_hp: 15, burner_size_btu_h: 1_500_000 });
  expect(sized).toMatchObject({ motor_size_hp: 15, burner_size_btu_h: 1_500_000 });
  expect(parametersOf(clickBooth(), CONFIG)).not.toHaveProperty("motor_size_hp");
});

it("parametersOf adds the mode of a mode bit to the mode map", () => {
  const profile = clickBooth();
  const tags = profile.tags.map((tag, index) => (index === 0 ? { ...tag, mode: "spray" as const } : tag));
  expect(parametersOf({ ...profile, tags }, CONFIG).modes).toMatchObject({ ...profile.modes, spray: "spray" });
});

it("unknownGroups returns the poll groups that a booth configures but its profile doesn't have", () => {
  const poll = { fast: { poll_interval_ms: 500 }, quick: { poll_interval_ms: 100 } };
  expect(unknownGroups(clickBooth(), { ...CONFIG, poll })).toEqual(["quick"]);
});

describe("withService", () => {
  const own = withFilters({ pre_filter: { limits: { minutes: 600, cycles: 20 } } });
  const hours = [{ day: "monday", start: "08:00", stop: "17:00", enabled: true }] as const;

  it("applies the service's time zone, working hours and filter limits, but adds no filter to the booth", () => {
    const filters = { pre_filter: { limits: { minutes: 700 } }, intake_filter: { limits: { days: 5 } } };
    const said = serviceRecord({ tz: "Europe/Berlin", working_hours: hours, config: { revision: 1, filters } });
    expect(withService(own, said)).toMatchObject({ tz: "Europe/Berlin", working_hours: hours });
    expect(withService(own, said).filters).toEqual({ pre_filter: { limits: { minutes: 700, cycles: 20 } } });
  });

  it("leaves the configuration unchanged if the service sends no values", () => {
    expect(withService(own, null)).toBe(own);
    expect(withService(own, serviceRecord({ tz: null, working_hours: hours }))).toEqual(own);
    const empty = serviceRecord({ tz: null, config: { revision: 1, filters: { pre_filter: null } } });
    expect(withService(own, empty).filters).toEqual(own.filters);
    expect(PARAMETERS.filters).toEqual({});
  });
});

it("parametersOf omits a poll group without tags, because an unfinished profile may have such groups", () => {
  const profile = clickBooth();
  const groups = { ...profile.groups, unused: { poll_interval_ms: 1000 } };
  expect(parametersOf({ ...profile, groups }, CONFIG).groups).toEqual(profile.groups);
});
