import { expect, it } from "vitest";
import { nearestFirst } from "./nearest.ts";

const TESTS = ["e2e/site", "store/writer", "delivery/http/link", "delivery/mqtt/link", "delivery/loop"].map((name) => ({
  moduleId: `/p/test/${name}.test.ts`,
}));

function ordered(...files: readonly string[]): readonly string[] {
  return nearestFirst(TESTS, { files, root: "/p" }).map(({ moduleId }) => /test\/(.+)\.test/.exec(moduleId)?.[1] ?? "");
}

it("tests of the folder that changed come first, then those of its station, then the others", () => {
  expect(ordered("src/delivery/mqtt/session.ts")).toEqual([
    "delivery/mqtt/link",
    "delivery/http/link",
    "delivery/loop",
    "e2e/site",
    "store/writer",
  ]);
});

it("a test that changed comes before those that are near to a change", () => {
  expect(ordered("src/store/rows.ts", "test/delivery/loop.test.ts").slice(0, 3)).toEqual([
    "delivery/loop",
    "store/writer",
    "delivery/http/link",
  ]);
});

it("what stands in no folder is near to nothing", () => {
  expect(ordered("package.json")).toEqual(
    TESTS.map(({ moduleId }) => moduleId.slice("/p/test/".length, -".test.ts".length)),
  );
});
