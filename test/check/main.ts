#!/usr/bin/env node
import { execFileSync, spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { createVitest } from "vitest/node";
import { nearestFirst } from "./nearest.ts";

const HELP = `npm run check:fast

What npm run check does, of what differs from the last commit, in less than a minute on two idle cores: types and import rules
of everything, format and lint of the files that changed, and the unit tests that import one of them, nearest first, while there is time.
`;
/** Of test files: half a second each in the middle, by two workers. What has begun is run to its end. */
const AT_ONCE = 8;
/** So that the minute is kept to. */
const LAST_BEGUN_MS = 40_000;

/** Changed since the last commit or not yet known to git, and still there. */
function changedFiles(): readonly string[] {
  const names = (...args: readonly string[]): readonly string[] =>
    execFileSync("git", args, { encoding: "utf8" }).split("\0").filter(Boolean);
  return [
    ...names("diff", "-z", "--name-only", "--relative", "--diff-filter=d", "HEAD"),
    ...names("ls-files", "-z", "--others", "--exclude-standard"),
  ];
}

/** Whether it passed; what it says is shown where it didn't. */
async function step(name: string, command: string, args: readonly string[]): Promise<boolean> {
  const started = performance.now();
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
  const code = new Promise<number | null>((resolve, reject) => child.once("close", resolve).once("error", reject));
  const [ended, ...said] = await Promise.all([code, text(child.stdout), text(child.stderr)]);
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  process.stdout.write(ended === 0 ? `${name}: ok, ${seconds} s\n` : `${said.join("")}${name}: FAILED\n`);
  return ended === 0;
}

/** Two lanes of about the same length. */
async function looked(files: readonly string[]): Promise<boolean> {
  const everything = async (): Promise<boolean> => {
    const types = await step("types", "npm", ["run", "--silent", "types"]);
    return (await step("import rules", "npm", ["run", "--silent", "imports"])) && types;
  };
  const changed = async (): Promise<boolean> => {
    if (files.length === 0) return true;
    const format = await step("format", "prettier", ["--check", "--ignore-unknown", "--log-level", "warn", ...files]);
    const code = files.filter((file) => /\.[cm]?[jt]s$/.test(file));
    return (await step("lint", "eslint", ["--no-warn-ignored", "--no-error-on-unmatched-pattern", ...code])) && format;
  };
  const lanes = await Promise.all([everything(), changed()]);
  return lanes.every(Boolean);
}

/** Runs the tests that import one of the files, by whatever way. */
async function tested(files: readonly string[], began: number): Promise<boolean> {
  const reporters = ["minimal"];
  const vitest = await createVitest({ run: true, project: ["unit", "isolated"], related: [...files], reporters });
  let ran = 0;
  let passed = true;
  try {
    await vitest.standalone();
    const related = nearestFirst(await vitest.getRelevantTestSpecifications(), { files, root: process.cwd() });
    while (ran < related.length && performance.now() - began < LAST_BEGUN_MS) {
      const { testModules, unhandledErrors } = await vitest.runTestSpecifications(related.slice(ran, ran + AT_ONCE));
      ran += testModules.length;
      passed &&= unhandledErrors.length === 0 && testModules.every((one) => one.ok());
    }
    const left = related.length - ran;
    const rest = left === 0 ? "" : `; npm test runs ${left} more that import what changed`;
    process.stdout.write(`tests: ${passed ? "ok" : "FAILED"}, ${ran} files${rest}\n`);
  } finally {
    await vitest.close();
  }
  return passed;
}

async function main(): Promise<boolean> {
  const began = performance.now();
  const files = changedFiles();
  const fine = await looked(files);
  return (files.length === 0 || (await tested(files, began))) && fine;
}

if (process.argv.length > 2) process.stdout.write(HELP);
else if (!(await main())) process.exitCode = 1;
