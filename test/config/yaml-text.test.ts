import { expect, it } from "vitest";
import { ConfigError } from "../../src/config/config-error.ts";
import { shapeFault, shapeText } from "../../src/config/shape-faults.ts";
import { openYaml } from "../../src/config/yaml-source.ts";
import { yamlText } from "../../src/config/yaml-text.ts";
import { message } from "../../src/domain/message.ts";
import { render } from "../../src/domain/messages/render.ts";

it.each([
  "Missing , or : between flow map items",
  "Missing space after : in flow sequence",
  "Flow sequence must end with a ]",
  "Missing closing 'quote",
  "All mapping items must start at the same column",
  "Unexpected map-value-ind token in YAML stream",
  "Unexpected scalar at node end",
  "Plain value cannot start with reserved character @",
])("a usual mistake of YAML is a message of the agent: %s", (words) => {
  const text = yamlText(words);
  expect(typeof text).toBe("object");
  expect(render(text)).toBe(words);
});

it("other words of the YAML parser stay, without their part that quotes the file", () => {
  expect(yamlText("Unresolved alias (the anchor must be set before the alias): hunter2")).not.toContain("hunter2");
  expect(yamlText("Unresolved tag: !secret")).toEqual(message("yaml.tag"));
});

it.each([
  ["a: [1, 2", "yaml.list_end_nested"],
  ["[1, 2", "yaml.list_end"],
  ["a: { b: 1 ", "yaml.map_end_nested"],
  ["{ b: 1 ", "yaml.map_end"],
  ["a: ['x' 'y']", "yaml.missing_colon_list"],
  ["a: {, }", "yaml.comma_map"],
  ["a: [, ]", "yaml.comma_list"],
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
  ["a: @x", "yaml.start_reserved"],
  ["a: %x", "yaml.start_directive"],
  ["? [a]\n: b", "yaml.string_keys"],
  ["a: !x b", "yaml.tag"],
  ["a: ]", "yaml.unexpected_in_stream"],
  ["a: 'b' c", "yaml.unexpected_at_end"],
  ["a: b\n---\nc: d", "yaml.documents"],
])("the YAML parser's fault of %j is the message %s", (text, code) => {
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

it("a rule of a schema names its message by the code", () => {
  expect(shapeText(shapeFault("config.booth_id"))).toEqual(message("config.booth_id"));
  expect(shapeText("Invalid input")).toBeNull();
  expect(render(message("config.node"))).toBe(
    'a node is text such as "nsu=http://vendor/program/;s=Booth.Mode", or {namespace, id}',
  );
});
