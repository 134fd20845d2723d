#!/usr/bin/env node
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { arch, cpus, platform } from "node:os";

import type { Family, Figure } from "./figure.ts";
import { agentFamily } from "./agent.ts";
import { cliFamily } from "./cli.ts";
import { deriveFamily } from "./derive.ts";
import { drainFamily } from "./drain.ts";
import { fleetFamily } from "./fleet.ts";
import { memoryFamily } from "./memory.ts";
import { modbusFamily } from "./modbus.ts";
import { pageFamily } from "./page.ts";
import { planFamily } from "./plan.ts";
import { storeFamily } from "./store.ts";
import { serviceFamily } from "./service.ts";

/**
 * npm run bench [-- --quick] [FAMILY ...]: measures, prints one table, writes test/results/bench.json. Figures are
 * comparisons within this run; nothing here fails a build.
 */
const FAMILIES: readonly Family[] = [
  modbusFamily,
  fleetFamily,
  planFamily,
  memoryFamily,
  agentFamily,
  pageFamily,
  cliFamily,
  deriveFamily,
  serviceFamily,
  storeFamily,
  drainFamily,
];
const RESULTS = new URL("../results/", import.meta.url);

function commit(): string {
  try {
    return execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
  } catch {
    return "unknown"; // an unpacked archive has no history
  }
}

function short(value: number | null): string {
  return value === null || Number.isNaN(value) ? "" : value.toPrecision(4);
}

function table(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => [
    figure.name,
    short(figure.value),
    figure.unit,
    short(figure.anchor),
    short(figure.ratio),
    figure.target,
    figure.reached === null ? "" : figure.reached ? "yes" : "no",
  ]);
  const all = [["figure", "value", "unit", "anchor", "ratio", "target", "reached"], ...rows];
  const widths = (all[0] ?? []).map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

const wanted = process.argv.slice(2).filter((argument) => !argument.startsWith("-"));
const figures: Figure[] = [];
const chosen = FAMILIES.filter(({ name }) => wanted.length === 0 || wanted.includes(name));
for (const [index, family] of chosen.entries()) {
  const started = performance.now();
  process.stderr.write(`${(index + 1).toString()} of ${chosen.length.toString()}: ${family.name} ... `);
  figures.push(...(await family.run({ quick: process.argv.includes("--quick") })));
  process.stderr.write(`${((performance.now() - started) / 1000).toFixed(0)} s\n`);
}
const machine = `${platform()} ${arch()}, ${cpus().length} x ${cpus()[0]?.model ?? "unknown"}`;
const result = { machine, node: process.version, commit: commit(), figures };
mkdirSync(RESULTS, { recursive: true });
writeFileSync(new URL("bench.json", RESULTS), `${JSON.stringify(result, null, 2)}\n`);
process.stdout.write(`${table(figures)}\n`);
