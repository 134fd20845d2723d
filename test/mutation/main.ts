#!/usr/bin/env node
import { fork, type ChildProcess } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Planted } from "./instrument.ts";
import { plantedTree, ROOT } from "./tree.ts";

/**
 * node test/mutation/main.ts [--cases N] [--only REGEX] [--minutes M]: a fault after another in a copy of src/derivation, each
 * against those tests of test/derivation that reach it, and writes test/results/mutation.json. --only picks by FILE:LINE,
 * --cases is the number of lives per law. All faults stand in the copy at once and one is active at a time, so that one process
 * tries them all. One that makes a test endless, or a process die, is found.
 */
const HANGS_MS = 120_000;

interface Tried extends Planted {
  readonly outcome: string;
  readonly by: string;
}

interface Told {
  readonly id?: number;
  readonly ready?: number;
  readonly ms?: number;
  readonly outcome?: string;
  readonly by?: string;
}

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "600" },
    cases: { type: "string", default: "40" },
    only: { type: "string", default: "" },
  },
});

const { copy, planted } = plantedTree();

function started(mutant?: number): ChildProcess {
  const fixed = mutant === undefined ? {} : { MUTANT: mutant.toString() };
  return fork(join(copy, "test/mutation/child.ts"), {
    cwd: copy,
    env: { ...process.env, LAW_RUNS: values.cases, SEED: "1", ...fixed },
    execArgv: ["--max-old-space-size=1024", "--disable-warning=ExperimentalWarning"],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
}

/** The next thing that the child says; null: it died, or said nothing for too long and is ended. */
function said(child: ChildProcess): Promise<Told | null> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => child.kill("SIGKILL"), HANGS_MS);
    const finish = (told: Told | null): void => {
      clearTimeout(timer);
      child.removeAllListeners();
      resolve(told);
    };
    child.once("message", (told: Told) => finish(told));
    child.once("exit", () => finish(null));
  });
}

async function ready(): Promise<ChildProcess> {
  const child = started();
  const told = await said(child);
  if (told?.ready === undefined) throw new Error("the tests fail without a fault in the code");
  process.stdout.write(`${told.ready} tests, ${Math.round(told.ms ?? 0)} ms without a fault\n`);
  return child;
}

async function statically(mutant: Planted): Promise<Tried> {
  const child = started(mutant.id);
  const told = await said(child);
  child.kill();
  return { ...mutant, outcome: told?.outcome ?? "found", by: told?.by ?? "" };
}

const until = performance.now() + Number(values.minutes) * 60_000;
const only = new RegExp(values.only);
const chosen = planted.filter(({ file, line }) => only.test(`${file}:${line}`));
const tried: Tried[] = [];
let child: ChildProcess | null = null;
try {
  child = await ready();
  for (const mutant of chosen) {
    if (performance.now() > until) break;
    if (mutant.is_static) {
      tried.push(await statically(mutant));
    } else {
      child.send(mutant.id);
      const told = await said(child);
      tried.push({ ...mutant, outcome: told?.outcome ?? "found", by: told?.by ?? "hung" });
      if (told === null) child = await ready();
    }
    const last = tried.at(-1);
    if (last !== undefined)
      process.stdout.write(`${last.outcome.padEnd(9)} ${last.file}:${last.line} ${last.was} -> ${last.text}\n`);
  }
} finally {
  child?.kill();
  rmSync(copy, { recursive: true, force: true });
}
const survivors = tried.filter(({ outcome }) => outcome !== "found");
const found = tried.length - survivors.length;
const counts = { mutants: planted.length, tried: tried.length, found };
process.stdout.write(`${found} of ${tried.length} found, ${planted.length} in all\n`);
mkdirSync(join(ROOT, "test/results"), { recursive: true });
writeFileSync(join(ROOT, "test/results/mutation.json"), `${JSON.stringify({ ...counts, survivors }, null, 2)}\n`);
