#!/usr/bin/env node
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { seededRandom } from "../support/seeded-random.ts";
import { applied, mutantsOf, type Mutant } from "./mutants.ts";

/**
 * node test/mutation/main.ts [--sample N] [--seed S] [--minutes M] [--cases N] [--only REGEX]: plants one fault after another into a
 * copy of src/core/derive, runs test/core/derive against each, and writes test/results/mutation.json. --only picks by
 * FILE:LINE. Nothing is
 * changed in this tree. A mutant survives where all tests pass; one that makes them hang is found.
 */
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FOLDER = "src/core/derive";
/** The tests take some 10 s with few cases; a fault that makes a loop endless must not hold up the rest. */
const HANGS_MS = 90_000;
const CONFIG = `import { defineConfig } from "vitest/config";
export default defineConfig({ test: { include: ["test/core/derive/**/*.test.ts"], testTimeout: 30_000, bail: 1,
  pool: "threads", isolate: false, maxWorkers: 1 } });
`;

type Outcome = "survived" | "found" | "hung";

/** All mutants, in an order that the seed gives. */
function shuffled(seed: number): Mutant[] {
  const random = seededRandom(seed);
  return readdirSync(join(ROOT, FOLDER))
    .sort()
    .flatMap((name) => mutantsOf(join(FOLDER, name), readFileSync(join(ROOT, FOLDER, name), "utf8")))
    .map((mutant) => ({ mutant, at: random.next() }))
    .sort((a, b) => a.at - b.at)
    .map(({ mutant }) => mutant);
}

function copyOfTree(): string {
  const copy = mkdtempSync(join(tmpdir(), "mutation-"));
  for (const part of ["src", "simulators", "config", "test/support", "test/core", "package.json", "tsconfig.json"]) {
    cpSync(join(ROOT, part), join(copy, part), { recursive: true });
  }
  symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
  mkdirSync(join(copy, "test/results"));
  writeFileSync(join(copy, "mutation.config.ts"), CONFIG);
  return copy;
}

/** Runs the tests of derivation in the copy. A process group of its own, as vitest has children. */
function test(copy: string, cases: string): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const vitest = join(ROOT, "node_modules/vitest/vitest.mjs");
    const child = spawn(process.execPath, [vitest, "run", "--config", "mutation.config.ts"], {
      cwd: copy,
      env: { ...process.env, LAW_RUNS: cases, SEED: "1" },
      stdio: "ignore",
      detached: true,
    });
    let hung = false;
    const timer = setTimeout(() => {
      hung = true;
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    }, HANGS_MS);
    child.once("error", reject);
    child.once("exit", (code) => {
      clearTimeout(timer);
      resolve(hung ? "hung" : code === 0 ? "survived" : "found");
    });
  });
}

const { values } = parseArgs({
  options: {
    sample: { type: "string", default: "1000000" },
    seed: { type: "string", default: "1" },
    minutes: { type: "string", default: "600" },
    cases: { type: "string", default: "60" },
    only: { type: "string", default: "" },
  },
});
const until = performance.now() + Number(values.minutes) * 60_000;
const copy = copyOfTree();
const only = new RegExp(values.only);
const all = shuffled(Number(values.seed)).filter(({ file, line }) => only.test(`${file}:${line.toString()}`));
const tried: (Mutant & { readonly outcome: Outcome })[] = [];
try {
  if ((await test(copy, values.cases)) !== "survived") throw new Error("the tests fail without a fault in the code");
  for (const mutant of all.slice(0, Number(values.sample))) {
    if (performance.now() > until) break;
    const source = readFileSync(join(ROOT, mutant.file), "utf8");
    writeFileSync(join(copy, mutant.file), applied(source, mutant));
    const outcome = await test(copy, values.cases);
    writeFileSync(join(copy, mutant.file), source);
    tried.push({ ...mutant, outcome });
    const { file, line, was, text } = mutant;
    process.stdout.write(`${outcome.padEnd(8)} ${file}:${line.toString()} ${was} -> ${text}\n`);
  }
} finally {
  rmSync(copy, { recursive: true, force: true });
}
const survivors = tried.filter(({ outcome }) => outcome === "survived");
const found = tried.length - survivors.length;
process.stdout.write(
  `seed ${values.seed}: ${found.toString()} of ${tried.length.toString()} found, ${all.length.toString()} in all\n`,
);
mkdirSync(join(ROOT, "test/results"), { recursive: true });
writeFileSync(
  join(ROOT, "test/results/mutation.json"),
  `${JSON.stringify({ seed: Number(values.seed), mutants: all.length, tried: tried.length, found, survivors }, null, 2)}\n`,
);
