#!/usr/bin/env node
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { arch, cpus, loadavg, platform } from "node:os";
import { parseArgs } from "node:util";

import { aligned } from "../support/aligned.ts";
import { writeBlock } from "../support/made-block.ts";
import type { Family, Figure } from "./figure.ts";
import { agentFamily } from "./agent.ts";
import { cliFamily } from "./cli.ts";
import { deriveFamily } from "./derive.ts";
import { drainFamily } from "./drain.ts";
import { drainLatenessFamily } from "./drain-lateness.ts";
import { fleetFamily } from "./fleet.ts";
import { memoryFamily } from "./memory.ts";
import { modbusFamily } from "./modbus.ts";
import { pageFamily } from "./page.ts";
import { pendingFamily } from "./pending.ts";
import { planFamily } from "./plan.ts";
import { cellsOf, figuresBlock, type BenchResult } from "./result.ts";
import { startFamily } from "./start.ts";
import { storeFamily } from "./store.ts";
import { serviceFamily } from "./service.ts";

/**
 * npm run bench [-- --quick] [FAMILY ...]: measures, prints one table, writes test/results/bench.json. Figures are
 * comparisons within this run; nothing here fails a build.
 */
const FAMILIES: readonly Family[] = [
  modbusFamily,
  pendingFamily,
  fleetFamily,
  planFamily,
  memoryFamily,
  startFamily,
  agentFamily,
  pageFamily,
  cliFamily,
  deriveFamily,
  serviceFamily,
  storeFamily,
  drainFamily,
  drainLatenessFamily,
];
const RESULTS = new URL("../results/", import.meta.url);

function commit(): string {
  try {
    return execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
  } catch {
    return "unknown"; // an unpacked archive has no history
  }
}

function secondsSince(at: number): string {
  return ((performance.now() - at) / 1000).toFixed(0);
}

function table(figures: readonly Figure[]): string {
  return aligned([["figure", "value", "unit", "anchor", "ratio", "target", "reached"], ...figures.map(cellsOf)]);
}

const HELP = `npm run bench [-- --quick] [FAMILY ...]
npm run bench -- --write

Measures, prints one table, and writes test/results/bench.json. All families take some ten minutes; --quick measures less of
each, all in about a minute on a machine that has nothing else to do: enough to see that all can be measured, too short to judge by.
--write puts the last run's figures, with its machine, into docs/figures.md.
Families: ${FAMILIES.map(({ name }) => name).join(", ")}
`;

interface Call {
  readonly quick: boolean;
  readonly chosen: readonly Family[];
}

/** What was asked for; a text: what to say instead. */
function callOf(args: string[]): Call | string {
  const flag = { type: "boolean", default: false } as const;
  const options = { quick: flag, write: flag, help: flag };
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
  if (values.help) return HELP;
  if (values.write) return "write";
  const unknown = positionals.filter((wanted) => !FAMILIES.some(({ name }) => name === wanted));
  if (unknown.length > 0)
    throw new Error(`there is no family ${unknown.join(", ")}; npm run bench -- --help names them`);
  const chosen = FAMILIES.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
  return { quick: values.quick, chosen };
}

async function measure({ quick, chosen }: Call): Promise<void> {
  const figures: Figure[] = [];
  const begun = performance.now();
  for (const [index, family] of chosen.entries()) {
    const started = performance.now();
    process.stderr.write(`${(index + 1).toString()} of ${chosen.length.toString()}: ${family.name} ... `);
    figures.push(...(await family.run({ quick })));
    process.stderr.write(`${secondsSince(started)} s\n`);
  }
  process.stderr.write(`all together: ${secondsSince(begun)} s\n`);
  const machine = `${platform()} ${arch()}, ${cpus().length} x ${cpus()[0]?.model ?? "unknown"}`;
  const result: BenchResult = {
    machine,
    node: process.version,
    commit: commit(),
    quick,
    load: loadavg()[0] ?? NaN,
    figures,
  };
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(new URL("bench.json", RESULTS), `${JSON.stringify(result, null, 2)}\n`);
  process.stdout.write(`${table(figures)}\n`);
}

function lastResult(): BenchResult {
  // Written by this program alone.
  return JSON.parse(readFileSync(new URL("bench.json", RESULTS), "utf8")) as BenchResult;
}

try {
  const call = callOf(process.argv.slice(2));
  if (call === "write") await writeBlock(figuresBlock(lastResult()));
  else if (typeof call === "string") process.stdout.write(call);
  else await measure(call);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
}
