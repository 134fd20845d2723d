#!/usr/bin/env node
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { arch, cpus, loadavg, platform, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { errorMessage } from "../../src/domain/error-message.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";
import { aligned } from "../support/aligned.ts";
import { writeBlock } from "../support/made-block.ts";
import { FAMILIES } from "./families.ts";
import type { Figure } from "./figure.ts";
import { guardFigures, LIMIT } from "./guard.ts";
import { familyEnvironment, packagedAgent } from "./packaged.ts";
import { writeProfiles } from "./profile.ts";
import { outcomeOf } from "./program.ts";

/** Measures families of figures, each in a process of its own, and writes what was measured after each of them. */

const RESULTS = new URL("../results/", import.meta.url);
const RESULT = new URL("bench.json", RESULTS);
const PROFILES = fileURLToPath(new URL("profiles", RESULTS));
const FAMILY = fileURLToPath(new URL("families.ts", import.meta.url));
/** The longest family takes eight minutes on an idle machine. */
const LIMIT_MS = { quick: 5 * MINUTE_MS, full: 20 * MINUTE_MS };
const HEAD = ["figure", "value", "unit", "anchor", "ratio", "target", "reached"];

const HELP = `npm run bench [-- --quick] [FAMILY ...]
npm run bench -- --write
npm run bench -- profile [--quick]
npm run bench -- --box [--quick]
npm run bench -- guard [--write]

Measures, prints a table, and writes test/results/bench.json after each family. Figures are compared within the run; one that misses its
target fails nothing. A family that fails or takes longer than ${LIMIT_MS.full / MINUTE_MS} minutes is named at the end, and the exit code is 1; the others are
measured all the same. All families take some twenty minutes; --quick measures less of each, in some two minutes on a machine that has
nothing else to do: enough to see that all can be measured, too short to judge by.
--write puts the figures of the last run of all families, with its machine, into docs/reference/figures.md.
profile writes CPU profiles of the agent, with 64 booths and while a log is delivered, to test/results/profiles; Chrome's developer tools
open them.
--box runs what the package brings as /usr/lib/booth-gateway/bench, which needs no npm: start, memory, reading, flash and packing on this
very box, as a text to paste.
guard measures four ratios in some fifteen seconds and exits with 1 if one is more than ${LIMIT} times the committed one; --write commits
the measured ones to test/bench/guarded.json.
Families: ${FAMILIES.map(({ name }) => name).join(", ")}
`;

interface Failure {
  readonly family: string;
  readonly why: string;
}

/** A run as bench.json has it. The value of a figure that couldn't be measured is null in it. */
interface BenchResult {
  readonly machine: string;
  readonly node: string;
  readonly commit: string;
  readonly quick: boolean;
  /** Every family was measured. */
  readonly whole: boolean;
  /** Processes that wanted a core in the last minute, those of the run among them. */
  readonly load: number;
  readonly failed: readonly Failure[];
  readonly figures: readonly Figure[];
}

function commit(): string {
  try {
    return execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
  } catch {
    return "unknown"; // an unpacked archive has no history
  }
}

function cellsOf({ name, value, unit, anchor, ratio, target, reached }: Figure): readonly string[] {
  const short = (number: number | null): string =>
    number === null || Number.isNaN(number) ? "" : number.toPrecision(4);
  const verdict = reached === null ? "" : reached ? "yes" : "no";
  return [name, short(value), unit, short(anchor), short(ratio), target, verdict];
}

/** Returns how many of the targets were reached, which ones were not, and which families failed. */
function verdictOn({ figures, failed }: BenchResult): string {
  const judged = figures.filter(({ reached }) => reached !== null);
  const missed = judged.filter(({ reached }) => reached === false).map(({ name }) => name);
  const names = missed.length === 0 ? "" : `; not reached: ${missed.join(", ")}`;
  const failures = failed.map(({ family, why }) => `not measured: ${family} (${why})\n`).join("");
  return `${failures}targets reached: ${judged.length - missed.length} of ${judged.length}${names}\n`;
}

async function measure(names: readonly string[], quick: boolean): Promise<void> {
  // Temporary folders of a family that is killed go with this one.
  const TMPDIR = mkdtempSync(join(tmpdir(), "bench-run-"));
  const figures: Figure[] = [];
  const failed: Failure[] = [];
  const resultOf = (): BenchResult => ({
    machine: `${platform()} ${arch()}, ${cpus().length} x ${cpus()[0]?.model ?? "unknown"}`,
    node: process.version,
    commit: commit(),
    quick,
    whole: FAMILIES.every(({ name }) => names.includes(name)) && failed.length === 0,
    load: loadavg()[0] ?? NaN,
    failed,
    figures,
  });
  mkdirSync(RESULTS, { recursive: true });
  const env = { ...(await familyEnvironment()), TMPDIR };
  for (const [index, name] of names.entries()) {
    process.stderr.write(`${index + 1} of ${names.length}: ${name} ... `);
    const started = performance.now();
    const args = [FAMILY, name, ...(quick ? ["--quick"] : [])];
    const outcome = await outcomeOf(args, LIMIT_MS[quick ? "quick" : "full"], env);
    // families.ts sends figures.
    if (outcome.kind === "done") figures.push(...(outcome.message as readonly Figure[]));
    else failed.push({ family: name, why: outcome.why });
    const seconds = ((performance.now() - started) / 1_000).toFixed(0);
    process.stderr.write(outcome.kind === "done" ? `${seconds} s\n` : `failed after ${seconds} s: ${outcome.why}\n`);
    // A run that isn't over is not whole.
    const whole = index === names.length - 1 && resultOf().whole;
    writeFileSync(RESULT, `${JSON.stringify({ ...resultOf(), whole }, null, 2)}\n`);
  }
  rmSync(TMPDIR, { recursive: true, force: true });
  const notes = figures.flatMap(({ name, note }) => (note === undefined ? [] : [`${name}: ${note}\n`])).join("");
  process.stdout.write(`${aligned([HEAD, ...figures.map(cellsOf)])}\n${notes}${verdictOn(resultOf())}`);
  if (failed.length > 0) process.exitCode = 1;
}

/** Writes the judged figures of the last run into docs/reference/figures.md, with the machine that they were measured on. */
async function writeLast(): Promise<void> {
  if (!existsSync(RESULT)) throw new Error("nothing was measured yet: npm run bench, then --write");
  // Only this program writes the file.
  const { machine, node, quick, load, figures, whole, ...last } = JSON.parse(
    readFileSync(RESULT, "utf8"),
  ) as BenchResult;
  if (!whole) throw new Error("the last run did not measure every family: npm run bench measures all, then --write");
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "/")).join(" | ")} |`;
  const command = `\`npm run bench${quick ? " -- --quick" : ""}\``;
  const lines = [
    `Measured on ${machine}, Node ${node}, at commit ${last.commit}, by ${command}, at a load of ${load.toFixed(1)}:`,
    "",
    line(HEAD),
    line(HEAD.map(() => "---")),
    ...figures.filter(({ reached }) => reached !== null).map((figure) => line(cellsOf(figure))),
  ];
  await writeBlock({ document: "docs/reference/figures.md", name: "benchmark", markdown: lines.join("\n") });
  process.stdout.write(`docs/reference/figures.md: the figures of commit ${last.commit}\n`);
}

/** Runs the package's own benchmark by the package's Node, as on a box. */
async function onThisBox(quick: boolean): Promise<void> {
  const { command, args, env } = await packagedAgent();
  const bench = join(dirname(args.at(-1) ?? ""), "bench");
  const child = spawn(command, [bench, ...(quick ? ["--seconds", "3"] : [])], { env, stdio: "inherit" });
  const [code] = (await once(child, "exit")) as [number | null];
  process.exitCode = code ?? 1;
}

async function run(args: string[]): Promise<void> {
  const flag = { type: "boolean", default: false } as const;
  const options = { quick: flag, write: flag, box: flag, help: flag };
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
  const { quick } = values;
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  if (positionals.join() === "guard") {
    process.exitCode = await guardFigures(values.write);
    return;
  }
  if (values.write) return writeLast();
  if (values.box) return onThisBox(quick);
  if (positionals.join() === "profile") {
    await writeProfiles(PROFILES, { quick });
    process.stdout.write(`CPU profiles: ${PROFILES}\n`);
    return;
  }
  const all = FAMILIES.map(({ name }) => name);
  const unknown = positionals.filter((name) => !all.includes(name));
  if (unknown.length > 0) throw new Error(`no family ${unknown.join(", ")}; npm run bench -- --help names them`);
  return measure(positionals.length === 0 ? all : all.filter((name) => positionals.includes(name)), quick);
}

try {
  await run(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${errorMessage(error)}\n`);
  process.exitCode = 2;
}
