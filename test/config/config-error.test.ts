import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ConfigError, type Problem } from "../../src/config/config-error.ts";
import { inspectText, verdictOn } from "../../src/config/usable.ts";
import { message, type Text } from "../../src/domain/message.ts";
import { errorText } from "../../src/domain/messages/message-error.ts";
import { render } from "../../src/domain/messages/render.ts";
import { temporaryFolder } from "../support/temporary.ts";

const MISSPELLED: Problem = {
  line: 3,
  column: 5,
  path: "tags[0].labl",
  message: message("config.unknown_key", { key: "labl" }),
  hint: message("config.did_you_mean", { name: "label" }),
  text: "    labl: x",
};
const EMPTY: Problem = { line: 0, column: 0, path: "", message: message("config.empty") };

describe("ConfigError", () => {
  it("returns its first problem as a message whose values are the place, the fault and the remedy", () => {
    const error = new ConfigError("acme.yaml", [MISSPELLED]);
    const explained = message("text.hint", { text: MISSPELLED.message, hint: MISSPELLED.hint ?? "" });
    const text = message("text.at", { place: "tags[0].labl", text: explained });
    expect(error.brief()).toEqual(message("text.at", { place: "acme.yaml:3:5", text }));
    expect(errorText(error)).toEqual(error.brief());
    expect(render(error.brief())).toBe('acme.yaml:3:5: tags[0].labl: unknown key "labl" (did you mean "label"?)');
  });

  it("counts the further problems in its brief text, and names the file of the first problem", () => {
    const error = new ConfigError("acme.yaml", [{ ...EMPTY, file: "setup.json" }, MISSPELLED, EMPTY]);
    expect(render(error.brief())).toBe("setup.json: is empty, and 2 more");
    expect(error).toMatchObject({ file: "setup.json", line: 0, column: 0, hint: undefined });
  });

  it("shows each problem with an excerpt of the file for a terminal", () => {
    expect(new ConfigError("acme.yaml", [MISSPELLED, EMPTY]).message).toBe(
      [
        'acme.yaml:3:5: tags[0].labl: unknown key "labl" (did you mean "label"?)',
        "    3 |     labl: x",
        "      |     ^",
        "acme.yaml: is empty",
      ].join("\n"),
    );
  });

  it("hides a secret in a message's values, and keeps the rest of the message", () => {
    const key = "https://u:hunter2@x";
    const { problems, text } = new ConfigError("acme.yaml", [
      { ...EMPTY, message: message("config.unknown_key", { key }) },
    ]);
    expect(problems[0]?.message).toEqual(message("config.unknown_key", { key: "https://***********" }));
    expect(JSON.stringify(text)).not.toContain("hunter2");
  });
});

function problemIn(text: string): Text {
  try {
    const verdict = verdictOn(inspectText(text, "gateway.yaml"));
    return verdict?.problems[0]?.message ?? "";
  } catch (error) {
    if (error instanceof ConfigError) return error.problems[0]?.message ?? "";
    throw error;
  }
}

describe("a fault in a configuration", () => {
  const booth = (more: string): string =>
    `booths: [{ id: booth-1, profile: click-booth, modbus: { host: h }, ${more} }]`;

  it.each<readonly [string, Text]>([
    ["log_level: loud", message("config.unknown_value", { value: '"loud"' })],
    ["log_level: [loud]", message("config.unknown_value", { value: message("config.a_list") })],
    ["commit_interval_ms: 1", message("config.too_small", { value: "1", least: "1000" })],
    [
      "profile_dirs: []",
      message("config.too_small", {
        value: message("config.a_list"),
        least: message("config.entries", { count: 1 }),
      }),
    ],
    ["commit_interval_ms: soon", message("config.expected", { kind: message("config.a_number"), found: '"soon"' })],
    ["data_dir:", message("config.expected", { kind: message("config.text"), found: message("config.nothing") })],
    [
      "booths: [{ id: Booth_1, profile: click-booth, modbus: { host: h } }]",
      message("config.found", { message: message("config.booth_id"), found: '"Booth_1"' }),
    ],
    [booth("poll: { 'A b': { poll_interval_ms: 500 } }"), message("config.group_name")],
    [
      "booths: [{ id: b, profile: p, modbus: { serial: { path: /dev/x, baud_rate: 12345 } } }]",
      message("config.found", { message: message("config.invalid"), found: "12345" }),
    ],
    [
      "outputs: [{ name: a, url: 'mqtts://x', mqtt: { topics: { status: 'x/{booth}' } } }]",
      message("config.unknown_place", { place: "{booth}", known: ["{gateway}"] }),
    ],
    ["service: { url: 'https://x.example' ", message("yaml.bracket_end_nested", { bracket: "}" })],
    ["profile_dirs: ['a' 'b']", message("yaml.missing_colon")],
    ["a: b: c", message("yaml.nested_map")],
    ["a: 1\n---\na: 2", message("yaml.documents")],
    ["service:\n\turl: x", message("yaml.tab")],
    ["a: 1\na: 2", message("yaml.twice")],
  ])("is reported as a translatable message with code and values: %s", (text, expected) => {
    expect(problemIn(`${text}\n`)).toEqual(expected);
  });

  it("is reported with the message for the file if a file named in the configuration is faulty", () => {
    const file = join(temporaryFolder(), "pin");
    writeFileSync(file, "12345678");
    chmodSync(file, 0o644);
    const text = `page: { pin_file: ${file} }\n`;
    expect(problemIn(text)).toEqual(message("file.open", { file, mode: "644" }));
  });

  it("is reported without the name of an undefined YAML alias, because the name may be a secret", () => {
    const text = problemIn("service: *hunter2\n");
    expect(text).toMatchObject({ code: "config.unparsable" });
    expect(JSON.stringify(text)).not.toContain("hunter2");
  });
});
