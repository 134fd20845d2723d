import { expect, it } from "vitest";
import { ConfigError } from "../../src/config/config-error.ts";
import { shapeFault, shapeText } from "../../src/config/shape-faults.ts";
import { openYaml } from "../../src/config/yaml-source.ts";
import { yamlText } from "../../src/config/yaml-text.ts";
import { message } from "../../src/domain/message.ts";
import { render } from "../../src/domain/messages/render.ts";

it.each([
  ["Missing , or : between flow map items", "a comma or a colon is missing between two entries in brackets"],
  ["Missing space after : in flow sequence", "a space is missing after the colon"],
  ["Flow sequence must end with a ]", "the closing ] is missing"],
  ["Missing closing 'quote", "the closing single quote is missing"],
  ["All mapping items must start at the same column", "all keys of a mapping must start in the same column"],
  ["Unexpected map-value-ind token in YAML stream", "unexpected here: a colon"],
  ["Unexpected scalar at node end", "unexpected after the value: text"],
  ["Plain value cannot start with reserved character @", "a value cannot start with @: put it in quotes"],
])("yamlText replaces the YAML parser's error %j by the message %j", (words, expected) => {
  expect(render(yamlText(words))).toBe(expected);
});

it("yamlText keeps other errors of the YAML parser, without the part that quotes the file", () => {
  expect(yamlText("Unresolved alias (the anchor must be set before the alias): hunter2")).not.toContain("hunter2");
  expect(yamlText("Unresolved tag: !secret")).toEqual(message("yaml.tag"));
});

it.each([
  ["a: [1, 2", "yaml.bracket_end_nested"],
  ["[1, 2", "yaml.bracket_end"],
  ["a: { b: 1 ", "yaml.bracket_end_nested"],
  ["{ b: 1 ", "yaml.bracket_end"],
  ["a: ['x' 'y']", "yaml.missing_colon"],
  ["a: {, }", "yaml.extra_comma"],
  ["a: [, ]", "yaml.extra_comma"],
  ["a: 1\n  b: 2", "yaml.nested_map"],
  ["a:\n   b: 1\n  c: 2", "yaml.map_column"],
  ["a:\n   - b\n  - c", "yaml.list_as_key"],
  ["a: - b", "yaml.list_beside_key"],
  ["a\nb: 1", "yaml.key_lines"],
  ["a: 1\nb", "yaml.no_value"],
  ["a:\n\tb: 1", "yaml.tab"],
  ["a: 'x", "yaml.single_quote"],
  ['a: "x', "yaml.double_quote"],
  ['a: "x"#y', "yaml.comment"],
  ["a: @x", "yaml.start_sign"],
  ["a: %x", "yaml.start_sign"],
  ["? [a]\n: b", "yaml.string_keys"],
  ["a: !x b", "yaml.tag"],
  ["a: ]", "yaml.unexpected"],
  ["a: 'b' c", "yaml.unexpected_at_end"],
  ["a: b\n---\nc: d", "yaml.documents"],
])("openYaml reports the faulty YAML %j with the message code %s", (text, code) => {
  expect(faultsOf(`${text}\n`)).toContain(code);
});

/** Returns the codes of a text's faults; words of the parser as they are. */
function faultsOf(text: string): readonly string[] {
  try {
    openYaml(text, "f.yaml");
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map(({ message: fault }) => (typeof fault === "string" ? fault : fault.code));
  }
}

it("shapeText returns the message for a schema rule's error code, and null for any other text", () => {
  expect(shapeText(shapeFault("config.booth_id"))).toEqual(message("config.booth_id"));
  expect(shapeText("Invalid input")).toBeNull();
  expect(render(message("config.node"))).toBe(
    'a node is text such as "nsu=http://vendor/program/;s=Booth.Mode", or {namespace, id}',
  );
});
