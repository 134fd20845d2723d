import { expect, it } from "vitest";
import { csvField } from "../../simulators/service/http/csv.ts";
import { csvLine, CSV_HEAD } from "../../src/contract/reports.ts";

/** Returns the field as the box writes it, with quotes. */
function atBox(value: string | number): string {
  const line = csvLine({ at: 0, tag: "t", value, quality: "good" });
  return line.slice(line.indexOf(",t,") + 3, -",good\n".length);
}

it.each<[string | number, string]>([
  ["-1+cmd", "'-1+cmd"],
  ["-1.5e3", "-1.5e3"],
  ["+1+cmd", "'+1+cmd"],
  ["-.5|' /C calc'!A0", "'-.5|' /C calc'!A0"],
  ["-2+3", "'-2+3"],
  ["-0x10", "'-0x10"],
  ["-1e", "'-1e"],
  ["-1 2", "'-1 2"],
  ["-", "'-"],
  ["--1", "'--1"],
  ["-Infinity", "'-Infinity"],
  ["-.5", "-.5"],
  ["-5.", "-5."],
  ["+5", "+5"],
  ["-1e-7", "-1e-7"],
  [-1e-7, "-1e-7"],
  [-5, "-5"],
  ["=1", "'=1"],
  ["@SUM(A1)", "'@SUM(A1)"],
  ["\t=1", "'\t=1"],
  ["\r=1", `"'\r=1"`],
  ["\n=1", `"'\n=1"`],
  [" =1", "' =1"],
  ["＝1", "'＝1"],
  ["5-1", "5-1"],
  ["spray", "spray"],
])("the gateway and the service both export the CSV value %j as %j", (value, field) => {
  expect(atBox(value)).toBe(field);
  expect(csvField(value)).toBe(field);
});

it("no CSV field of the gateway or the service starts like a formula, except a field that is a number", () => {
  expect(CSV_HEAD.startsWith("time,")).toBe(true);
  const pieces = ["-", "+", "1", ".", "e", "=", " ", "x", "@", "\t"];
  const texts = pieces.flatMap((a) => pieces.flatMap((b) => pieces.flatMap((c) => pieces.map((d) => a + b + c + d))));
  const wrong = texts.filter((text) => {
    const isNumber = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text);
    const isRisky = !isNumber && /^[\s]*[-+=@]|^\t/.test(text);
    const guarded = [atBox(text), csvField(text)].map((field) => field.replace(/^"/, "").startsWith("'"));
    return guarded.some((is) => is !== isRisky);
  });
  expect(wrong).toEqual([]);
});
