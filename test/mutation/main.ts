#!/usr/bin/env node
import { fork, type ChildProcess } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Planted } from "./instrument.ts";
import { mutantText } from "./mutants.ts";
import { plantedTree, ROOT } from "./tree.ts";

/**
 * node test/mutation/main.ts [--cases N] [--only REGEX] [--minutes M]: tries one fault after another in a copy of src/derivation
 * against the tests of test/derivation that reach it, and writes test/results/mutation.json and test/results/survivors.txt, which has
 * the form of test/mutation/survivors.txt. --only selects by FILE:LINE, --cases is the number of lives per law. All faults are in the
 * copy at once and one is active at a time, so that one process tries them all. A fault counts as found if a test never ends or the
 * process dies.
 */
const HANGS_MS = 120_000;

interface Tried extends Planted {
  readonly outcome: string;
  readonly by: string;
}

interface Message {
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

/** The child's next message; null if it died, or was killed after a long silence. */
function nextMessage(child: ChildProcess): Promise<Message | null> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => child.kill("SIGKILL"), HANGS_MS);
    const finish = (message: Message | null): void => {
      clearTimeout(timer);
      child.removeAllListeners();
      resolve(message);
    };
    child.once("message", (message: Message) => finish(message));
    child.once("exit", () => finish(null));
  });
}

async function ready(): Promise<ChildProcess> {
  const child = started();
  const message = await nextMessage(child);
  if (message?.ready === undefined) throw new Error("the tests fail without a fault in the code");
  process.stdout.write(`${message.ready} tests, ${Math.round(message.ms ?? 0)} ms without a fault\n`);
  return child;
}

async function triedAlone(mutant: Planted): Promise<Tried> {
  const child = started(mutant.id);
  const message = await nextMessage(child);
  child.kill();
  return { ...mutant, outcome: message?.outcome ?? "found", by: message?.by ?? "" };
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
      tried.push(await triedAlone(mutant));
    } else {
      child.send(mutant.id);
      const message = await nextMessage(child);
      tried.push({ ...mutant, outcome: message?.outcome ?? "found", by: message?.by ?? "hung" });
      if (message === null) child = await ready();
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
const lines = survivors.map((one) => `${one.outcome} ${mutantText(one)}\n`.replace(" src/derivation/", " ")).sort();
process.stdout.write(`${found} of ${tried.length} found, ${planted.length} in all\n`);
mkdirSync(join(ROOT, "test/results"), { recursive: true });
writeFileSync(join(ROOT, "test/results/survivors.txt"), lines.join(""));
writeFileSync(join(ROOT, "test/results/mutation.json"), `${JSON.stringify({ ...counts, survivors }, null, 2)}\n`);
