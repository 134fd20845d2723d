import { expect, it } from "vitest";
import { byFolder, percent, type FileCoverage } from "./folders.ts";

function file(path: string, ways: readonly (readonly number[])[], statements: readonly number[]): FileCoverage {
  const ids = ways.map((_, index) => index.toString());
  return {
    path: `/p/src/${path}`,
    b: Object.fromEntries(ids.map((id, index) => [id, ways[index] ?? []])),
    branchMap: {},
    s: Object.fromEntries(statements.map((count, index) => [index, count])),
  };
}

const FILES = [
  file("core/a.ts", [[1, 0], [3]], [1, 1, 0]),
  file("core/derive/deep/b.ts", [[0, 0]], [0]),
  file("core/c.ts", [[2, 2]], [5]),
  file("main.ts", [], [1]),
];

it("adds files up by folder, two deep; each way of a branch counts", () => {
  expect(byFolder(FILES, "/p/src/")).toEqual([
    { folder: "src", files: 1, branches: 0, branches_reached: 0, statements: 1, statements_reached: 1 },
    { folder: "src/core", files: 2, branches: 5, branches_reached: 4, statements: 4, statements_reached: 3 },
    { folder: "src/core/derive", files: 1, branches: 2, branches_reached: 0, statements: 1, statements_reached: 0 },
  ]);
});

it("has all of nothing", () => {
  expect([percent(0, 0), percent(1, 4)]).toEqual([100, 25]);
});
