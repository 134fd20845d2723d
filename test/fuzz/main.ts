#!/usr/bin/env node
import { parseArgs } from "node:util";
import { corpusOf, keep } from "./corpus.ts";
import { fuzz, type Finding } from "./run.ts";
import type { Target } from "./target.ts";
import { TARGETS } from "./targets.ts";
import { errorMessage } from "../../src/domain/error-message.ts";

const HELP = `npm run fuzz [-- TARGET ...] [--runs N] [--seed S]

Gives each reader of what others wrote its corpus (test/fuzz/corpus) and N inputs made from it (default: ten times what a
CI run makes). The seed is printed; the same makes the same inputs. What an input brings to light is shown, and the input
kept in the corpus: each later run tries it first.
Targets: ${TARGETS.map(({ name }) => name).join(", ")}
`;

interface Call {
  readonly chosen: readonly Target[];
  readonly runs: number | null;
  readonly seed: number;
}

/** Parses the arguments. Returns the call, or a text to print instead. */
function callOf(args: string[]): Call | string {
  const options = { runs: { type: "string" }, seed: { type: "string" }, help: { type: "boolean" } } as const;
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
  if (values.help === true) return HELP;
  const unknown = positionals.filter((wanted) => !TARGETS.some(({ name }) => name === wanted));
  if (unknown.length > 0)
    throw new Error(`there is no target ${unknown.join(", ")}; npm run fuzz -- --help names them`);
  const chosen = TARGETS.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
  const seed = wholeOf("seed", values.seed) ?? Math.floor(Math.random() * 2 ** 31);
  return { chosen, runs: wholeOf("runs", values.runs), seed };
}

function wholeOf(name: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  if (!/^\d{1,12}$/.test(text)) throw new Error(`--${name} must be a whole number`);
  return Number(text);
}

async function play({ chosen, runs, seed }: Call): Promise<number> {
  const found: Finding[] = [];
  for (const target of chosen) {
    const wanted = runs ?? 10 * target.ci_runs;
    const counts = await fuzz({ target, corpus: corpusOf(target), runs: wanted, seed });
    const { taken, refused, findings } = counts;
    process.stdout.write(
      `${target.name.padEnd(14)} seed ${seed}: ${counts.runs} inputs, ${taken} taken, ` +
        `${refused} refused, ${findings.length} findings\n`,
    );
    for (const { what, why, input } of findings)
      process.stdout.write(`  ${what}: ${why}\n  kept: ${keep(target, input)}\n`);
    found.push(...findings);
  }
  return found.length === 0 ? 0 : 1;
}

try {
  const call = callOf(process.argv.slice(2));
  if (typeof call === "string") process.stdout.write(call);
  else process.exitCode = await play(call);
} catch (error) {
  process.stderr.write(`${errorMessage(error)}\n`);
  process.exitCode = 2;
}
