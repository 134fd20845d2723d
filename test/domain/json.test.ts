import { expect, it } from "vitest";
import { jsonOf } from "../../src/domain/json.ts";

const nested = (levels: number): string => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;

it("the JSON parser returns undefined for a text that is nested deeper than the limit", () => {
  expect(jsonOf(nested(33))).toBeUndefined();
  expect(jsonOf("[".repeat(60_000))).toBeUndefined();
  expect(jsonOf(nested(60_000))).toBeUndefined();
  expect(jsonOf("[[1]]", 1)).toBeUndefined();
});

it("the JSON parser accepts nesting up to the limit, regardless of the number of values", () => {
  expect(JSON.stringify(jsonOf(nested(32)))).toBe(nested(32));
  const wide = JSON.stringify(Array.from({ length: 1_000 }, (_, index) => ({ at: [index] })));
  expect(JSON.stringify(jsonOf(wide))).toBe(wide);
});

it("the JSON parser doesn't count brackets inside strings as nesting", () => {
  const text = JSON.stringify({ note: `"${"[{".repeat(100)}\\`, after: ["\\\\", "]"] });
  expect(JSON.stringify(jsonOf(text))).toBe(text);
});

it.each(["", "<html>", '{"a":', '"', "undefined", '{"a":"\\'])(
  "the JSON parser returns undefined for the invalid JSON %j",
  (text) => {
    expect(jsonOf(text)).toBeUndefined();
  },
);
