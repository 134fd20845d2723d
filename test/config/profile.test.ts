import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";

import { ConfigError } from "../../src/config/config-error.ts";
import { tagParameters } from "../../src/config/parameters.ts";
import { findProfile, loadProfile, parseProfile, profileNames, SHIPPED_PROFILES } from "../../src/config/profile.ts";

const CLICK = readFileSync(join(SHIPPED_PROFILES, "click-booth.yaml"), "utf8");
const SMALL = `name: small
version: "1"
protocol: modbus
modbus:
  word_order: low_first
  holes: { holding: [[200, 300]] }
groups:
  fast: { poll_interval_ms: 1000 }
modes: { "0": "off", "3": spray }
filters:
  exhaust_filter: { limits: { minutes: 6000 } }
tags:
  - { name: mode, role: mode, address: 400001, type: uint16, group: fast }
  - { name: minutes, role: filter_minutes, filter: exhaust_filter, address: 400002, type: uint32, group: fast }
`;
const dir = mkdtempSync(join(tmpdir(), "profiles-"));
afterAll(() => rmSync(dir, { recursive: true }));

function refusal(text: string): ConfigError {
  try {
    parseProfile(text, "p.yaml");
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error("it was accepted");
}

describe("a profile file", () => {
  test("passes a tag's plausible range (between) on to the derivation", () => {
    const between = { min: 5, max: 95 };
    const text = SMALL.replace("400002, type: uint32,", "400002, type: uint32, between: { min: 5, max: 95 },");
    const [, minutes] = parseProfile(text, "p.yaml").tags;
    expect(minutes === undefined ? null : tagParameters(minutes)).toMatchObject({ between });
  });

  test("gets default values for missing settings", () => {
    const { quirks, mode_sets, tags } = parseProfile(SMALL, "p.yaml");
    expect(quirks).toMatchObject({ unit_id: 1, string_order: "high_first", max_registers: 125, max_bits: 2000 });
    expect(quirks).toMatchObject({ min_gap_ms: 0, connect_delay_ms: 0 });
    expect(mode_sets).toEqual({
      in_use: ["spray", "flash", "purge", "bake"],
      run: ["spray", "flash", "purge", "bake", "cool_down"],
      runtime: ["spray", "flash", "purge", "bake", "cool_down"],
    });
    expect(tags[0]).toEqual({
      name: "mode",
      label: "mode",
      role: "mode",
      bay: 0,
      unit: "",
      factor: 1,
      group: "fast",
      deadband: 0,
      heartbeat_ms: 900_000,
      point: { table: "holding", address: 0, type: "uint16", scale: 1, offset: 0, sentinels: [] },
    });
  });

  test("is found by its name and loads if it is shipped with the gateway", () => {
    expect(profileNames()).toContain("click-booth");
    for (const name of profileNames())
      expect(findProfile(name)).toEqual(loadProfile(join(SHIPPED_PROFILES, `${name}.yaml`)));
  });

  test("has, for click-booth, the register addresses of the PLC's manual", () => {
    const places = Object.fromEntries(findProfile("click-booth").tags.map(({ name, point }) => [name, point]));
    expect(places["mode"]).toMatchObject({ table: "holding", address: 0 });
    expect(places["cycle_count"]).toMatchObject({ table: "holding", address: 16_384, type: "uint32" });
    expect(places["air_temperature"]).toMatchObject({ table: "holding", address: 28_672, type: "float32" });
    expect(places["firmware_version"]).toMatchObject({ table: "holding", address: 36_864, length: 4 });
    expect(places["burner_on"]).toMatchObject({ table: "coil", address: 16_384 });
  });

  test("is taken from the first folder that contains it, and is rejected if it is missing or contains another name", () => {
    writeFileSync(join(dir, "click-booth.yaml"), SMALL.replace("name: small", "name: click-booth"));
    writeFileSync(join(dir, "other.yaml"), SMALL);
    expect(findProfile("click-booth", [dir, SHIPPED_PROFILES]).tags.length).toBe(2);
    expect(() => findProfile("other", [dir])).toThrow(
      /other\.yaml:1:7: name: the name differs from the file's name, "other"/,
    );
    expect(() => findProfile("clik-booth", [dir])).toThrow(/did you mean "click-booth"/);
    expect(() => findProfile("../secret", [dir])).toThrow(ConfigError);
  });

  test("is rejected with an error that shows the file, the position, the line and a caret", () => {
    expect(refusal(SMALL.replace("role: mode", "role: moed")).message).toBe(
      [
        'p.yaml:13:25: tags[0].role: unknown value "moed" (did you mean "mode"?)',
        "   13 |   - { name: mode, role: moed, address: 400001, type: uint16, group: fast }",
        "      |                         ^",
      ].join("\n"),
    );
  });

  test("is rejected with an error that lists all problems in the order of the file", () => {
    const text = SMALL.replace("word_order", "wordorder").replace("group: fast }\n  - {", "group: slow }\n  - {");
    expect(refusal(text).problems.map(({ line }) => line)).toEqual([5]); // shapes first, then what they refer to
    const two = refusal(SMALL.replace("400001", "400000").replace("name: minutes", "name: mode"));
    expect(two.problems.map(({ path }) => path)).toEqual(["tags[0].address", "tags[1].name"]);
    expect(two).toMatchObject({ file: "p.yaml", line: 13, column: 40 });
  });

  test.each<readonly [string, string, RegExp]>([
    ["word_order", "wordorder", /5:3: modbus\.wordorder: unknown key "wordorder" \(did you mean "word_order"/],
    ["word_order", "zzzzzz", /one of unit_id, word_order/],
    ["type: uint16, ", "", /13:5: tags\[0\]\.type: the key "type" is missing/],
    ["poll_interval_ms: 1000", "poll_interval_ms: soon", /8:29: .*expected a number, found "soon"/],
    ["poll_interval_ms: 1000", "poll_interval_ms: 1", /1 is too small: at least 100/],
    ['version: "1"', "version: 1", /put the value in quotes/],
    ["spray", "spry", /modes\.3: unknown value "spry" \(did you mean "spray"/],
    ["type: uint16, group: fast", "type: uint16, group: fsat", /group "fsat" does not exist \(did you mean "fast"/],
    ["name: minutes", "name: mode", /the name "mode" is already in use \(first used in tags\[0\]\)/],
    ["role: mode, ", "", /12:1: tags: no tag has the role mode/],
    ["role: mode, ", "role: mode_bit, ", /a tag with the role mode_bit needs a mode/],
    ["role: mode, ", "role: mode, mode: spray, ", /only a tag with the role mode_bit has a mode/],
    [
      "role: filter_minutes, filter: exhaust_filter",
      "role: mode_bit, mode: spray",
      /bay 0 has both a mode tag and a mode_bit/,
    ],
    ["role: mode, ", "role: mode_bit, mode: spray, ", /the mode bits of bay 0 form a tag "mode"/],
    ["role: filter_minutes, filter: exhaust_filter", "role: mode", /bay 0 already has a mode tag/],
    [
      "type: uint16",
      "type: string, length: 2, deadband_percent: 5",
      /a tag of type string cannot have a deadband in percent/,
    ],
    [
      "type: uint32",
      "type: uint32, deadband_percent: 5, counter: { step: 1, retained: true }",
      /a counter cannot have a deadband in percent/,
    ],
    ["type: uint16", "type: string, length: 2, between: { min: 1, max: 2 }", /a tag of type string cannot have limits/],
    ["type: uint16", "type: uint16, between: { min: 2, max: 2 }", /min must be less than max/],
    ["filter: exhaust_filter, ", "", /needs the setting filter/],
    ["role: filter_minutes", "role: gas", /only a tag with a role filter_/],
    ["400002", "400250", /the address is in the declared hole 200\.\.300/],
    ["400002", "400200", /the address is in the declared hole/],
    ["400002", "465536", /beyond the last address/],
    ["400001", "1", /table coil has only values of type bool/],
    ["type: uint16", "type: bool", /needs a bit, 0 to 15/],
    ["type: uint16", "type: string", /needs a length/],
    ["type: uint16", "type: uint16, bit: 1", /only a bool can have a bit/],
    ["type: uint16", "type: uint16, sentinels: [-1]", /-1 is outside the range of type uint16/],
    [
      "type: uint32",
      "type: uint64, sentinels: [18446744073709551615]",
      /outside the range|too large for an exact number/,
    ],
    ["type: uint16", "type: uint16, labels: { '-1': x }", /-1 is outside the range of type uint16/],
    ["type: uint32", "type: float32, labels: { '1': x }", /only whole numbers can/],
    ["type: uint16", "type: uint16, scale: 0.1, labels: { '1': x }", /cannot have scale or offset/],
    ["type: uint16", "type: string, length: 2, word_order: low_first", /a string has no word_order/],
    ["type: uint16", "type: string, length: 2, byte_order: low_first", /a string has no byte_order: use string_order/],
    ["type: uint16", "type: uint16, string_order: low_first", /only a string can have/],
    [
      "type: uint32",
      "type: bcd16, counter: { step: 1, modulus: 65536, retained: true }",
      /a counter of type bcd16 wraps at 10000/,
    ],
    ["word_order: low_first", "tables: [input]", /has the tables input, not holding/],
    ["type: uint16", "type: uint16, min: 2, max: 1", /min is greater than max/],
    ["[200, 300]", "[300, 200]", /holes\.holding\[0\]: the end of the range/],
    ['version: "1"', 'version: "1"\nversion: "2"', /3:1: the key occurs twice/],
    ["groups:", "groups: [", /p\.yaml:\d+:\d+: /],
    ["protocol: modbus", "protocol: modbus\n__proto__: { x: 1 }", /"__proto__" is not allowed/],
    ["limits: { minutes: 6000 }", "limits: { constructor: 1 }", /"constructor" is not allowed/],
    ["protocol: modbus", "protocol: !!js/function modbus", /p\.yaml:3/],
  ])("is rejected if %j is replaced by %j: %s", (from, to, message) => {
    expect(SMALL).toContain(from);
    expect(refusal(SMALL.replace(from, to)).message).toMatch(message);
  });

  test("is rejected if it is empty, missing, too large, nested too deeply, or expands too many aliases", () => {
    expect(refusal("").message).toBe("p.yaml: is empty");
    expect(refusal("# x".repeat(400_000)).message).toMatch(/is longer than/);
    expect(refusal("[".repeat(100_000)).message).toMatch(/^p\.yaml:1:\d+: nested too deeply/);
    const bomb = ["a0: &a0 [x, x]", ...Array.from({ length: 30 }, (_, i) => `a${i + 1}: &a${i + 1} [*a${i}, *a${i}]`)];
    expect(refusal(bomb.join("\n")).message).toMatch(/alias/i);
    expect(() => loadProfile(join(dir, "none.yaml"))).toThrow(/cannot be read/);
    writeFileSync(join(dir, "large.yaml"), Buffer.alloc(2_000_000, 0x23));
    expect(() => loadProfile(join(dir, "large.yaml"))).toThrow(/has 2000000 bytes/);
  });

  test("loads or is rejected with a ConfigError if it is truncated at any length", () => {
    for (let length = 0; length < CLICK.length; length += 97) {
      try {
        parseProfile(CLICK.slice(0, length), "cut.yaml");
      } catch (error) {
        expect(error).toBeInstanceOf(ConfigError);
      }
    }
  });
});
