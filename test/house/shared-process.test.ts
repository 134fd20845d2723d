import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** Unit and long test files share one process, so a change of its environment or of a prototype reaches other files. */
const CHANGES_THE_PROCESS = [
  /process\.env(\.\w+|\[[^\]]+\])\s*=[^=]/,
  /delete process\.env/,
  /defineProperty\(\s*[\w.]+\.prototype/,
];
const HAS_OWN_PROCESS = /\.(isolated|system|nightly)\.test\.ts$|^test\/bench\/|stores-on-postgres\.ts$/;

test("test files that change the whole process are named *.isolated.test.ts", () => {
  const files = globSync("test/**/*.ts").filter(
    (file) => !HAS_OWN_PROCESS.test(file) && !file.includes("shared-process"),
  );
  const wrong = files.filter((file) => {
    const text = readFileSync(file, "utf8");
    return CHANGES_THE_PROCESS.some((pattern) => pattern.test(text));
  });
  expect(files.length).toBeGreaterThan(100);
  expect(wrong).toEqual([]);
});
