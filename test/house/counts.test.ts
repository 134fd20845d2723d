import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { countsOf } from "./counts.ts";
import { oldWordsIn } from "./words.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

it("every source file under 40 lines is imported by several files or by its own test", () => {
  const what_to_do = "merge the file into the one that imports it, or import it in a *.test.ts of its own";
  expect(countsOf(ROOT).splinters, what_to_do).toEqual([]);
});

it("no name in src uses a project term that was replaced", () => {
  expect(oldWordsIn(ROOT)).toEqual([]);
});
