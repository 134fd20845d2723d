import { describe, expect, it } from "vitest";
import { freeName, tagNameOf, usualNameIn } from "../../../src/tools/rules/tag-names.ts";
import { usualTags } from "../../../src/tools/profile/usual-tags.ts";

describe("a tag's name", () => {
  it.each([
    ["Booth.AirTemp", "booth_air_temp"],
    ["  Zähler #2 ", "zahler_2"],
    ["AV-101", "av_101"],
    ["_1st Fan", "st_fan"],
    ["***", ""],
  ])("is derived from the text %j as %j", (text, name) => {
    expect(tagNameOf(text)).toBe(name);
  });

  it("gets a number if the name is already taken", () => {
    const taken = new Set(["fan", "fan_2"]);
    expect(freeName("fan", (name) => taken.has(name))).toBe("fan_3");
  });

  it("is recognized as a usual tag if it equals the usual tag's name", () => {
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
  ])("equal to %s suggests the usual tag %s (null: no usual tag)", (name, usual) => {
    expect(usualNameIn(name)).toBe(usual);
  });
});
