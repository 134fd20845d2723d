import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseTrace } from "../../simulators/plc/replay/trace-file.ts";
import { ConfigError } from "../../src/config/config-error.ts";
import { withSetting } from "../../src/config/edit.ts";
import { parseProfile } from "../../src/config/profile.ts";
import { inspectText } from "../../src/config/usable.ts";
import { excessOf } from "../../src/config/yaml-source.ts";
import { recordFault } from "../support/faults.ts";
import { GATEWAY, MANY_PROCESSES_MS, runProgram } from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary.ts";

function lines(count: number, line: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => `${line(index)}\n`).join("");
}

/** Name, text and error of files that would keep the parser, or the search for a problem's place, busy for seconds to minutes. */
const SLOW: readonly (readonly [string, string, RegExp])[] = [
  ["60,000 keys", lines(60_000, (i) => `key_${i}: 1`), /^f\.yaml:28572:\d+: too many keys and values/],
  ["27,000 keys", lines(27_000, (i) => `key_${i}: 1`), /^f\.yaml:1:1: 27000 entries, more than the limit of 2000/],
  ["27,000 keys on one line", `{${lines(27_000, (i) => `k${i}: 1,`).replaceAll("\n", "")}}`, /27000 entries/],
  ["deeply nested lists in brackets", `a: ${"[".repeat(300_000)}`, /^f\.yaml:1:\d+: nested too deeply/],
  ["deeply nested lists by dashes", "- ".repeat(300_000), /^f\.yaml:1:\d+: nested too deeply/],
  ["deeply nested mappings", lines(1_400, (i) => `${" ".repeat(i)}a:`), /^f\.yaml:6\d:\d+: nested too deeply/],
  ["thousands of aliases", lines(10_000, (i) => `a${i}: &a${i} [*a${i - 1}]`), /more than 100 aliases/],
  ["closing brackets without opening brackets", `[${"}".repeat(190_000)}`, /not YAML: more than 100 syntax errors/],
  [
    "thousands of unknown keys",
    `tags:\n${lines(1_900, () => "- { a: 1, b: 2, c: 3, d: 4, e: 5 }")}`,
    /missing|unknown/,
  ],
];

function refusal(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return "accepted";
}

describe("a file that would take too long to parse (fault matrix row 49)", () => {
  it.each(SLOW)("is rejected as a profile, as a configuration and by config set if it has %s", (_, text, message) => {
    expect(refusal(() => parseProfile(text, "f.yaml"))).toMatch(message);
    expect(refusal(() => inspectText(text, "f.yaml"))).toMatch(/^f\.yaml/);
    // A file that is only too long can be edited: the result is checked like any configuration.
    if (excessOf(text) !== null)
      expect(() => withSetting(text, ["log_level"], "debug")).toThrow(/^The file cannot be parsed: /);
    else expect(refusal(() => inspectText(withSetting(text, ["log_level"], "debug"), "f.yaml"))).toMatch(/^f\.yaml/);
  });

  it("is parsed only up to the position at which it exceeds a limit", () => {
    const deep = excessOf("[".repeat(1_000_000));
    expect(deep?.offset).toBeLessThan(100);
    const aliases = excessOf(lines(100_000, () => "- *a"));
    expect(aliases?.offset).toBeLessThan(1_000);
    const keys = excessOf(lines(90_000, (i) => `key_${i}: 1`));
    expect(keys?.offset).toBeLessThan(450_000);
  });

  it("is rejected as a trace, and the error names the line", () => {
    const deep = `{"kind":"header","format":"booth-plc-trace","version":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
    expect(() => parseTrace(deep, "f.trace")).toThrow("f.trace:1: the line has 2000");
    const keys = JSON.stringify(Object.fromEntries(Array.from({ length: 60_000 }, (_, i) => [`key_${i}`, 1])));
    expect(() => parseTrace(keys, "f.trace")).toThrow(/f\.trace:1: the line has \d+ characters, more than 8192/);
  });

  it("makes the check command exit with 78 and an error message", { timeout: MANY_PROCESSES_MS }, async () => {
    const folder = temporaryFolder();
    for (const [index, [, text, message]] of SLOW.entries()) {
      const file = join(folder, `${index}.yaml`);
      writeFileSync(file, text);
      const { code, err } = await runProgram(GATEWAY, ["check", "--config", file]);
      expect(code).toBe(78);
      if (!message.source.includes("missing")) expect(err.replace(file, "f.yaml")).toMatch(message);
    }
    const outcome = { lost: 0, doubled: 0, wrong: 0, passed: true };
    recordFault({ row: 49, fault: "file made to be slow", injected: SLOW.length, ...outcome });
  });
});
