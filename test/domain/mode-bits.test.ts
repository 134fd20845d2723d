import { describe, expect, it } from "vitest";
import { modeBitsOf, modeBitTags, withModes } from "../../src/domain/mode-bits.ts";
import type { Sample } from "../../src/domain/taken.ts";
import { tag } from "../support/parameters.ts";

const TAGS = {
  is_spray: tag("mode_bit", "", { mode: "spray" }),
  is_bake: tag("mode_bit", "", { mode: "bake" }),
  is_fault: tag("mode_bit", "", { mode: "fault" }),
  air: tag("air_temperature", "C"),
};
const bit = (name: string, value: Sample["value"]): Sample => ({ tag: name, value, quality: "good" });
const made = (...samples: Sample[]) => withModes(samples, modeBitsOf(TAGS)).filter(({ tag: name }) => name === "mode");

describe("the mode value from a bay's mode bits", () => {
  it.each([
    [false, false, false, "none"],
    [true, false, false, "spray"],
    [true, true, false, "bake & spray"],
    [true, true, true, "fault & bake & spray"],
    [1, 0, 0, "spray"],
  ])("for spray %s, bake %s and fault %s is %s", (...[spray, bake, fault, mode]) => {
    const samples = [bit("is_spray", spray), bit("is_bake", bake), bit("is_fault", fault), bit("air", 20)];
    expect(made(...samples)).toEqual([{ tag: "mode", value: mode, quality: "good" }]);
  });

  it("is null with bad quality if one of the bits can't be read", () => {
    const bad: Sample = { tag: "is_bake", value: null, quality: "bad", reason: "hole" };
    expect(made(bit("is_spray", true), bad, bit("is_fault", false))).toEqual([
      { tag: "mode", value: null, quality: "bad", reason: "hole" },
    ]);
  });

  it("is null without a reason if the driver gives no reason for a bit that can't be read", () => {
    const bad: Sample = { tag: "is_bake", value: null, quality: "bad" };
    expect(made(bad)).toEqual([{ tag: "mode", value: null, quality: "bad" }]);
  });

  it("does not exist in a poll without mode bits or for a profile without mode bits", () => {
    const samples = [bit("air", 20)];
    expect(withModes(samples, modeBitsOf(TAGS))).toBe(samples);
    expect(withModes(samples, modeBitsOf({ air: TAGS.air }))).toBe(samples);
  });

  it("is a separate tag for each bay", () => {
    const tags = {
      left: tag("mode_bit", "", { mode: "spray", bay: 1 }),
      right: tag("mode_bit", "", { mode: "spray", bay: 2, group: "slow" }),
    };
    const modes = Object.entries(modeBitTags(tags)).map(([name, { role, bay, group }]) => [name, role, bay, group]);
    expect(modes).toEqual([
      ["mode_1", "mode", 1, "fast"],
      ["mode_2", "mode", 2, "slow"],
    ]);
  });
});
