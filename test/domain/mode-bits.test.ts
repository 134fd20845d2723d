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

describe("what a bay's bits mean together", () => {
  it.each([
    [false, false, false, "none"],
    [true, false, false, "spray"],
    [true, true, false, "bake & spray"],
    [true, true, true, "fault & bake & spray"],
    [1, 0, 0, "spray"],
  ])("spray %s, bake %s, fault %s: %s", (...[spray, bake, fault, mode]) => {
    const samples = [bit("is_spray", spray), bit("is_bake", bake), bit("is_fault", fault), bit("air", 20)];
    expect(made(...samples)).toEqual([{ tag: "mode", value: mode, quality: "good" }]);
  });

  it("nothing, where one of them can't be read", () => {
    const bad: Sample = { tag: "is_bake", value: null, quality: "bad", reason: "hole" };
    expect(made(bit("is_spray", true), bad, bit("is_fault", false))).toEqual([
      { tag: "mode", value: null, quality: "bad", reason: "hole" },
    ]);
  });

  it("nothing, without a reason, where the driver gives none", () => {
    const bad: Sample = { tag: "is_bake", value: null, quality: "bad" };
    expect(made(bad)).toEqual([{ tag: "mode", value: null, quality: "bad" }]);
  });

  it("nothing is made of a poll without them, or of a profile without any", () => {
    const samples = [bit("air", 20)];
    expect(withModes(samples, modeBitsOf(TAGS))).toBe(samples);
    expect(withModes(samples, modeBitsOf({ air: TAGS.air }))).toBe(samples);
  });

  it("each bay has a tag of its own", () => {
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
