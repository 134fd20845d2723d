import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { excusesOf, unexplained, unreachedIn } from "./reasons.ts";

const FILE = {
  path: "/p/src/core/a.ts",
  b: { "0": [1, 0], "1": [0, 0], "2": [4] },
  branchMap: {
    "0": { loc: { start: { line: 1 } }, locations: [{ start: { line: 1 } }, { start: { line: undefined } }] },
    "1": { loc: { start: { line: 2 } }, locations: [{ start: { line: 2 } }, { start: { line: 3 } }] },
    "2": { loc: { start: { line: 3 } }, locations: [{ start: { line: 3 } }] },
  },
  s: {},
};
const LINES = ["  if (a) return;", "b ??", "  c"];

it("names each way that no test took, at its own line or at its branch's", () => {
  const found = unreachedIn(FILE, "core/a.ts", LINES).map(({ line, text }) => `${line} ${text}`);
  expect(found).toEqual(["1 if (a) return;", "2 b ??", "3 c"]);
});

it("a reason holds for every line of its file that contains its text, and for no other", () => {
  const excuses = excusesOf("# a guard\ncore/a.ts: if (a)\ncore/b.ts: c\n\n# told twice\ncore/a.ts: b ??\n");
  expect(excuses.map(({ reason }) => reason)).toEqual(["a guard", "a guard", "told twice"]);
  expect(unexplained(unreachedIn(FILE, "core/a.ts", LINES), excuses).map(({ text }) => text)).toEqual(["c"]);
});

it.each(["core/a.ts: no reason above", "# why\nno place", "# why\ncore/a.ts:", "# why\ncore/a b.ts: x"])(
  "a list with %j in it is refused",
  (list) => {
    expect(() => excusesOf(list)).toThrow("neither a reason nor a place");
  },
);

it("what the list names still stands in the source", () => {
  const excuses = excusesOf(readFileSync(new URL("unreached.txt", import.meta.url), "utf8"));
  const gone = excuses.filter(
    ({ path, text }) => !readFileSync(new URL(`../../src/${path}`, import.meta.url), "utf8").includes(text),
  );
  expect(gone).toEqual([]);
});
