import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseProfile } from "../../src/config/profile.ts";
import { render } from "../../src/domain/messages/render.ts";
import { unitTrouble, unitWarnings } from "../../src/tools/unit-texts.ts";
import { counterIn, usualIn, usualTags, type UsualTag } from "../../src/tools/profile/usual-tags.ts";
import { say } from "../cli/say.ts";
import { temporaryFolder } from "../support/temporary.ts";

function usual(name: string): UsualTag {
  const found = usualTags().get(name);
  if (found === undefined) throw new Error(`no usual tag ${name}`);
  return found;
}

describe("unitTrouble", () => {
  it.each([
    ["minuets", "filter_minutes", 'Tag x: unknown unit "minuets". Did you mean "min"?'],
    ["degFF", "air_temperature", 'Tag x: unknown unit "degFF". Did you mean "F"?'],
    ["kwhh", undefined, 'Tag x: unknown unit "kwhh". Did you mean "kWh"?'],
    ["m", "hour_meter", 'Tag x: the unit "m" does not fit the role hour_meter. Use one of s, ms, min, h, d.'],
    ["qq", "filter_minutes", 'Tag x: unknown unit "qq". Use one of s, ms, min, h, d.'],
    ["", "hour_meter", "Tag x: the role hour_meter needs a unit. Use one of s, ms, min, h, d."],
    ["minutes", "filter_minutes", null],
    ["-", undefined, null],
    ["ppm", undefined, null],
  ] as const)("returns, for the unit %j with the role %s, the message %s", (unit, role, text) => {
    const trouble = unitTrouble({ name: "x", role, unit, factor: 1 });
    expect(trouble === null ? null : render(trouble)).toBe(text);
  });
});

describe("usualIn", () => {
  it("converts a temperature's limits and deadband together with its unit", () => {
    const { meaning } = usualIn(usual("air_temperature"), "air_temperature", "degF");
    expect(meaning).toMatchObject({ unit: "F", min: -58, max: 752, deadband: 1.8 });
  });

  it("converts a pressure's limits and deadband together with its unit, so that small pressures are recorded", () => {
    const { meaning } = usualIn(usual("booth_pressure"), "booth_pressure", "inWC");
    expect(meaning).toMatchObject({ unit: "inWC", min: -2.007, max: 2.007, deadband: 0.008 });
  });

  it.each([
    ["exhaust_hours", undefined, "h", 1.02],
    ["exhaust_filter_hrs", undefined, "h", 1.02],
    ["exhaust_minutes", undefined, "min", 61.2],
    ["exhaust_minutes", "hours", "h", 1.02],
    ["exhaust_time", "s", "s", 3672],
    ["exhaust_time", undefined, "min", 61.2],
  ])("treats a meter named %s with the unit %s as a meter in %s", (...[name, given, unit, rate]) => {
    const { meaning, counter } = usualIn(usual("exhaust_minutes"), name, given);
    expect(meaning["unit"]).toBe(unit);
    expect(counter?.max_rate_per_h).toBeCloseTo(rate, 9);
    expect(counter === undefined ? null : counterIn(counter, "uint16", 0.1).step).toBe(0.1);
  });

  it("drops the usual limits if the unit is of another kind, because they can't be converted", () => {
    const { meaning, counter } = usualIn(usual("gas"), "gas", "m3");
    expect(counter).toBeUndefined();
    expect(meaning).toMatchObject({ unit: "m3", role: "gas" });
    expect(usualIn(usual("air_temperature"), "air_temperature", "V").meaning).not.toHaveProperty("max");
  });
});

const PROFILE = `name: small
version: "1"
protocol: modbus
groups: { fast: { poll_interval_ms: 1000 } }
modes: { "3": spray }
filters: { exhaust_filter: { limits: { minutes: 6000 } } }
tags:
  - { name: mode, role: mode, address: 400001, type: uint16, group: fast }
  - { name: used, role: filter_minutes, filter: exhaust_filter, address: 400002, type: uint16, group: fast, unit: UNIT }
  - { name: pressure, role: booth_pressure, address: 400003, type: int16, group: fast, unit: inWC, deadband: 2 }
  - { name: flow, address: 400004, type: int16, group: fast, unit: furlong }
`;

describe("an existing profile with unknown units", () => {
  it("keeps all tags, and warns of each unknown unit and of a deadband so large that it hides every change", () => {
    const profile = parseProfile(PROFILE.replace("UNIT", "minuets"), "small.yaml");
    expect(profile.tags.map(({ name, role }) => [name, role])).toEqual([
      ["mode", "mode"],
      ["used", undefined],
      ["pressure", "booth_pressure"],
      ["flow", undefined],
    ]);
    expect(unitWarnings(profile).map((text) => render(text))).toEqual([
      'Tag used: unknown unit "minuets". Did you mean "min"? Until then, no figure is calculated from the role filter_minutes.',
      "Tag pressure: a deadband of 2 inWC equals 498 Pa and hides every change. Give the deadband in inWC.",
      expect.stringContaining('Tag flow: unknown unit "furlong".'),
    ]);
  });

  it("passes the check command with exit code 0 and printed warnings", async () => {
    const file = join(temporaryFolder(), "small.yaml");
    writeFileSync(file, PROFILE.replace("UNIT", "minuets"));
    const { code, out } = await say(["check", file]);
    expect([code, out]).toEqual([0, expect.stringContaining('\n  warning: Tag used: unknown unit "minuets".')]);
    const json: unknown = JSON.parse((await say(["check", file, "--json"])).out);
    expect(json).toMatchObject({ ok: true, warnings: [{}, {}, {}].map(() => expect.any(String) as unknown) });
  });
});

describe("the profile add command", () => {
  async function added(name: string, more: string) {
    const config = join(temporaryFolder(), "gateway.yaml");
    await say(["profile", "new", "acme", "--from", "opcua", "--config", config]);
    const at = ["--at", "nsu=urn:x;s=A", "--type", "float32", "--with", more, "--yes", "--json", "--config", config];
    return say(["profile", "add", name, ...at]);
  }

  it.each(["unit=minuets", "unit=m", "unit=Pa"])(
    "rejects %s for a filter's minutes, and writes nothing",
    async (more) => {
      const { code, out, err } = await added("exhaust_minutes", more);
      expect([code, out]).toEqual([2, ""]);
      expect(err).toContain("Tag exhaust_minutes: ");
    },
  );

  it("writes the unit in its canonical spelling, and deadband and rate in that unit", async () => {
    const { code, out } = await added("exhaust_minutes", "unit=Hours");
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      tags: [{ unit: "h", deadband: 0.017, counter: { max_rate_per_h: 1.02 } }],
    });
  });
});
