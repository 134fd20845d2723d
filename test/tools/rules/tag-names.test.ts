import { describe, expect, it } from "vitest";
import { freeName, tagNameOf, usualNameIn } from "../../../src/tools/rules/tag-names.ts";
import { usualTags } from "../../../src/tools/profile/usual-tags.ts";

describe("names of tags", () => {
  it.each([
    ["Booth.AirTemp", "booth_air_temp"],
    ["  Zähler #2 ", "zahler_2"],
    ["AV-101", "av_101"],
    ["_1st Fan", "st_fan"],
    ["***", ""],
  ])("%j becomes %j", (text, name) => {
    expect(tagNameOf(text)).toBe(name);
  });

  it("a name that is taken gets a number", () => {
    const taken = new Set(["fan", "fan_2"]);
    expect(freeName("fan", (name) => taken.has(name))).toBe("fan_3");
  });

  it("every usual tag is known by its own name", () => {
    for (const name of usualTags().keys()) {
      if (/^(mode|cycle_count|air_temperature|exhaust_minutes|gas|energy|door_open)$/.test(name))
        expect(usualNameIn(name)).toBe(name);
    }
  });

  it.each([
    ["booth_mode", "mode"],
    ["booth_air_temp", "air_temperature"],
    ["total_cycles", "cycle_count"],
    ["exh_filter_hrs", "exhaust_minutes"],
    ["exh_filter_dp", "exhaust_pressure"],
    ["supply_fan_speed_pct", "fan_speed"],
    ["gas_valve", null],
    ["recipe", null],
  ])("%s probably means %s", (name, usual) => {
    expect(usualNameIn(name)).toBe(usual);
  });
});
