#!/usr/bin/env node
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { arch, cpus, loadavg, platform } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";

import { aligned } from "../support/aligned.ts";
import { writeBlock } from "../support/made-block.ts";
import { type Family, type Figure, related, withAnchors } from "./figure.ts";
import { agentFamily } from "./agent.ts";
import { cliFamily } from "./cli.ts";
import { deriveFamily } from "./derive.ts";
import { drainFamily } from "./drain.ts";
import { drainLatenessFamily } from "./drain-lateness.ts";
import { fleetFamily } from "./fleet.ts";
import { memoryFamily } from "./memory.ts";
import { modbusFamily } from "./modbus.ts";
import { pageFamily } from "./page.ts";
import { packagedAgent } from "./packaged.ts";
import { peersFamily } from "./peers.ts";
import { pendingFamily } from "./pending.ts";
import { planFamily } from "./plan.ts";
import { postgresFamily } from "./postgres.ts";
import { profiled } from "./profile.ts";
import { cellsOf, figuresBlock, type BenchResult } from "./result.ts";
import { sharedFamily } from "./shared.ts";
import { startFamily } from "./start.ts";
import { storeFamily } from "./store.ts";
import { serviceFamily } from "./service.ts";
import { throughputFamily } from "./throughput.ts";
import { errorMessage } from "../../src/domain/error-message.ts";

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
  sharedFamily,
  pageFamily,
  cliFamily,
  deriveFamily,
  serviceFamily,
  storeFamily,
  drainFamily,
  drainLatenessFamily,
];
/** Measured where they are named alone: they take minutes, and what they bring from elsewhere. */
const BY_NAME: readonly Family[] = [peersFamily, postgresFamily, throughputFamily];
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

/** How many of the targets were reached, and which ones weren't. */
function verdict(figures: readonly Figure[]): string {
  const judged = figures.filter(({ reached }) => reached !== null);
  const missed = judged.filter(({ reached }) => reached === false).map(({ name }) => name);
  const names = missed.length === 0 ? "" : `; not reached: ${missed.join(", ")}`;
  return `targets reached: ${judged.length - missed.length} of ${judged.length}${names}`;
}

const HELP = `npm run bench [-- --quick] [FAMILY ...]
npm run bench -- --write
npm run bench -- profile [--quick]
npm run bench -- peers [--quick]
npm run bench -- postgres [--quick]
npm run bench -- --box [--quick]

Measures, prints one table, and writes test/results/bench.json. All families take some ten minutes; --quick measures less of
each, all in about a minute on a machine that has nothing else to do: enough to see that all can be measured, too short to judge by.
--write puts the figures of the last run of all families, with its machine, into docs/figures.md.
profile tells where the agent's CPU goes, function by function, with 64 booths and while a log is delivered.
peers measures the agent beside Node-RED, modbus-serial and libmodbus, one after the other: some minutes; Node-RED is installed by npm into a
temporary folder, libmodbus is Debian's (apt-get install gcc pkg-config libmodbus-dev).
postgres measures the service on PostgreSQL (apt-get install postgresql-15): what a reading takes at rest over a week of 100 booths, and
reports over 10,000: some minutes.
throughput measures how many batches of 50,000 gateways ingest and PostgreSQL take, without brokers and sessions: two minutes.
--box runs what the package brings as /usr/lib/booth-gateway/bench, which needs no npm: start, memory, reading, flash and packing on this
very box, as a text to paste.
Families: ${FAMILIES.map(({ name }) => name).join(", ")}
`;

/** What was asked for, to be done. */
function callOf(args: string[]): () => Promise<void> {
  const flag = { type: "boolean", default: false } as const;
  const options = { quick: flag, write: flag, box: flag, help: flag };
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
  const { quick } = values;
  const [first = "", ...others] = positionals;
  if (values.help) return () => print(HELP);
  if (values.write) return writeLast;
  if (first === "profile" && others.length === 0) return async () => print(await profiled({ quick }));
  const all = [...FAMILIES, ...BY_NAME];
  if (values.box) return () => onThisBox(quick);
  const unknown = positionals.filter((asked) => !all.some(({ name }) => name === asked));
  if (unknown.length > 0)
    throw new Error(`there is no family ${unknown.join(", ")}; npm run bench -- --help names them`);
  const wanted = withAnchors(positionals);
  const chosen = positionals.length === 0 ? FAMILIES : all.filter(({ name }) => wanted.includes(name));
  return () => measure({ quick, chosen });
}

/** As on a box: the package's own program, by the package's Node. */
async function onThisBox(quick: boolean): Promise<void> {
  const { command, args, env } = await packagedAgent();
  const bench = join(dirname(args.at(-1) ?? ""), "bench");
  const child = spawn(command, [bench, ...(quick ? ["--seconds", "3"] : [])], { env, stdio: "inherit" });
  const [code] = (await once(child, "exit")) as [number | null];
  process.exitCode = code ?? 1;
}

function print(text: string): Promise<void> {
  process.stdout.write(text);
  return Promise.resolve();
}

interface Asked {
  readonly quick: boolean;
  readonly chosen: readonly Family[];
}

async function measure({ quick, chosen }: Asked): Promise<void> {
  const measured: Figure[] = [];
  const begun = performance.now();
  for (const [index, family] of chosen.entries()) {
    const started = performance.now();
    process.stderr.write(`${index + 1} of ${chosen.length}: ${family.name} ... `);
    measured.push(...(await family.run({ quick })));
    process.stderr.write(`${secondsSince(started)} s\n`);
  }
  process.stderr.write(`all together: ${secondsSince(begun)} s\n`);
  const figures = related(measured);
  const machine = `${platform()} ${arch()}, ${cpus().length} x ${cpus()[0]?.model ?? "unknown"}`;
  const result: BenchResult = {
    machine,
    node: process.version,
    commit: commit(),
    quick,
    whole: FAMILIES.every((family) => chosen.includes(family)),
    load: loadavg()[0] ?? NaN,
    figures,
  };
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(new URL("bench.json", RESULTS), `${JSON.stringify(result, null, 2)}\n`);
  process.stdout.write(`${table(figures)}\n${verdict(figures)}\n`);
}

async function writeLast(): Promise<void> {
  const file = new URL("bench.json", RESULTS);
  if (!existsSync(file)) throw new Error("nothing was measured yet: npm run bench, then --write");
  // Written by this program alone.
  const last = JSON.parse(readFileSync(file, "utf8")) as BenchResult;
  if (!last.whole)
    throw new Error("the last run measured some families alone: npm run bench measures all, then --write");
  const block = figuresBlock(last);
  await writeBlock(block);
  await print(`${block.document}: the figures of commit ${last.commit}\n`);
}

try {
  await callOf(process.argv.slice(2))();
} catch (error) {
  process.stderr.write(`${errorMessage(error)}\n`);
  process.exitCode = 2;
}
