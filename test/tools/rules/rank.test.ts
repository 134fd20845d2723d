import { describe, expect, it } from "vitest";
import { findProfile } from "../../../src/config/profile.ts";
import { message, type Text } from "../../../src/domain/message.ts";
import { render } from "../../../src/domain/messages/render.ts";
import type { ProfileTag } from "../../../src/domain/profile.ts";
import type { Sample } from "../../../src/domain/taken.ts";
import { rankProfiles, verdictOf } from "../../../src/tools/rules/rank.ts";

const click = findProfile("click-booth");
const micro = findProfile("micro800-booth");
const tagOf = (name: string): ProfileTag => {
  const found = (click.tags as readonly ProfileTag[]).find((tag) => tag.name === name || tag.role === name);
  if (found === undefined) throw new Error(`the profile has no ${name}`);
  return found;
};
const good = (tag: string, value: Sample["value"]): Sample => ({ tag, value, quality: "good" });

const textsOf = (texts: readonly Text[] = []): readonly string[] => texts.map((text) => render(text));

describe("verdictOf", () => {
  it.each([
    ["mode", 3, "plausible", "spray"],
    ["mode", 0, "open", "off"],
    ["mode", 77, "odd", "one of 0, 1"],
    ["air_temperature", 21.5, "plausible", " to "],
    ["air_temperature", 0, "open", " to "],
    ["air_temperature", 1.4e38, "odd", " to "],
    ["air_temperature", 3e-41, "odd", " to "],
    ["cycle_counter", 1200, "plausible", "0 or more"],
    ["plc_program", "GFC-14C", "plausible", "a text"],
    ["plc_program", "", "open", "a text"],
    ["plc_program", "\u0001\u00ff", "odd", "a text"],
  ] as const)("rates a tag %s with the value %j as %s", (...[name, value, verdict, usual]) => {
    const tag = tagOf(name);
    const said = verdictOf(click, tag, good(tag.name, value));
    expect(said.verdict).toBe(verdict);
    expect(render(said.usual)).toContain(usual);
  });

  it("rates a tag without a value as silent, and gives the reason", () => {
    const tag = tagOf("mode");
    expect(verdictOf(click, tag, undefined)).toMatchObject({ verdict: "silent", usual: message("test.never_read") });
    const bad: Sample = { tag: tag.name, value: null, quality: "bad", reason: "exception 2" };
    expect(verdictOf(click, tag, bad)).toMatchObject({ verdict: "silent", usual: "exception 2" });
  });
});

describe("rankProfiles", () => {
  const samples = [good(tagOf("mode").name, 3), good(tagOf("air_temperature").name, 22)];

  it("sorts profiles by how well they fit the values read, with the reasons for and against each profile", () => {
    const [first, second] = rankProfiles(
      [
        { profile: micro, samples: [], failed: "no answer" },
        { profile: click, samples, failed: null },
      ],
      [],
    );
    expect([first?.profile, second?.profile]).toEqual(["click-booth", "micro800-booth"]);
    expect(textsOf(first?.reasons)[0]).toBe(`2 of ${click.tags.length} tags can be read, 2 with a plausible value`);
    expect(textsOf(first?.reasons)).toContain("Mode is 3: spray");
    expect(second).toMatchObject({ fit: 0, reasons: [message("fit.unread", { reason: "no answer" })] });
    expect(first?.values).toHaveLength(click.tags.length);
  });

  it("puts the profile of the device's maker first if two profiles fit equally well, and gives the maker as a reason", () => {
    const reading = { samples: [], failed: null };
    const [first, second] = rankProfiles(
      [
        { profile: click, ...reading },
        { profile: micro, ...reading },
      ],
      ["Micro-800 CPU"],
    );
    expect(first?.profile).toBe("micro800-booth");
    expect(textsOf(first?.reasons)[0]).toBe('the device identifies itself as "Micro-800 CPU"');
    expect(textsOf(second?.reasons).join()).not.toContain("identifies itself");
  });

  it("does not rate a profile higher for an implausible value", () => {
    const fitOf = (more: readonly Sample[]): number =>
      rankProfiles([{ profile: click, samples: [...samples, ...more], failed: null }], [])[0]?.fit ?? 1;
    expect(fitOf([good(tagOf("cycle_counter").name, -5)])).toBeLessThanOrEqual(fitOf([]));
  });
});
