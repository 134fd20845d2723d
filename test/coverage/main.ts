#!/usr/bin/env node
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { aligned } from "../support/aligned.ts";
import { byFolder, percent, type FileCoverage } from "./folders.ts";
import { excusesOf, unexplained, unreachedIn, type Unreached } from "./reasons.ts";

const SOURCE = fileURLToPath(new URL("../../src/", import.meta.url));
const RESULTS = new URL("../results/", import.meta.url);
const EXCUSES = new URL("unreached.txt", import.meta.url);
/** Of branches in what is pure: domain, derivation, the stations' rules. */
const LEAST_PERCENT = 95;
const TEST_TIMEOUT_MS = 600_000;
const HELP = `npm run coverage [-- TEST ...] [--last] [--unreached]

Runs the tests (those of npm test and the long ones; or the given files and folders) with V8's coverage, prints by folder
which share of branches and statements they reach, and writes test/results/coverage.json. Ends with 1 where less than
${LEAST_PERCENT} % of the branches of its rules (domain, derivation, */rules) are reached, or where one of them isn't and test/coverage/unreached.txt doesn't say why.

  --last         no run: the last one's table again
  --unreached    and the lines of branches that no test took
`;

/** Whether the tests passed. What they reached is told either way. */
function runTests(tests: readonly string[]): boolean {
  const projects = ["unit", "isolated", "long"].flatMap((name) => ["--project", name]);
  // Counting slows them down.
  const options = ["run", ...projects, "--coverage", "--testTimeout", TEST_TIMEOUT_MS.toString(), ...tests];
  return spawnSync("vitest", options, { stdio: "inherit" }).status === 0;
}

function filesOf(): readonly FileCoverage[] {
  // Written by vitest's provider.
  const text = readFileSync(new URL("coverage/coverage-final.json", RESULTS), "utf8");
  return Object.values(JSON.parse(text) as Record<string, FileCoverage>);
}

function show(files: readonly FileCoverage[]): number {
  const folders = byFolder(files, SOURCE);
  const head = ["folder", "files", "branches", "reached %", "statements", "reached %"];
  const rows = folders.map(({ folder, files: count, ...sums }) => [
    folder,
    count.toString(),
    sums.branches.toString(),
    percent(sums.branches_reached, sums.branches).toFixed(1),
    sums.statements.toString(),
    percent(sums.statements_reached, sums.statements).toFixed(1),
  ]);
  process.stdout.write(`${aligned([head, ...rows])}\n`);
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(new URL("coverage.json", RESULTS), `${JSON.stringify(folders, null, 2)}\n`);
  const rules = folders.filter(({ folder }) => isRule(folder.slice("src/".length)));
  const [reached, all] = rules.reduce(
    ([some, sum], { branches_reached, branches }) => [some + branches_reached, sum + branches],
    [0, 0],
  );
  const share = percent(reached, all);
  process.stdout.write(`rules: ${share.toFixed(2)} % of ${all} branches\n`);
  return share >= LEAST_PERCENT ? 0 : 1;
}

/** Of a file or folder in src. */
function isRule(path: string): boolean {
  return /^(domain|derivation|\w+\/rules)(\/|$)/.test(path);
}

function unreachedOf(files: readonly FileCoverage[]): readonly Unreached[] {
  return files.flatMap((file) =>
    unreachedIn(file, file.path.slice(SOURCE.length), readFileSync(file.path, "utf8").split("\n")),
  );
}

function tell(title: string, unreached: readonly Unreached[]): void {
  const lines = new Set(unreached.map(({ path, line, text }) => `  src/${path}:${line} ${text}\n`));
  if (lines.size > 0) process.stdout.write(`${title}\n${[...lines].join("")}`);
}

function main(): number {
  const flag = { type: "boolean", default: false } as const;
  const options = { last: flag, unreached: flag, help: flag };
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const passed = values.last || runTests(positionals);
  const files = filesOf();
  const unreached = unreachedOf(files);
  if (values.unreached) tell("ways that no test took:", unreached);
  const code = show(files);
  const inRules = unreached.filter(({ path }) => isRule(path));
  const unknown = unexplained(inRules, excusesOf(readFileSync(EXCUSES, "utf8")));
  tell("of rules without a reason:", unknown);
  return passed && unknown.length === 0 ? code : 1;
}

process.exitCode = main();
