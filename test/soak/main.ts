#!/usr/bin/env node
import { mkdirSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { AtEnd } from "../support/temporary.ts";
import { reportOf } from "./report.ts";
import { soak, type SoakOptions } from "./soak.ts";
import { errorMessage } from "../../src/domain/error-message.ts";

const HELP = `npm run soak -- (--hours N | --seconds N) [--speed N] [--seed N]

Runs the agent as a process against the simulated PLC and service, over lines that fail again and again, and watches its
memory, open files, write-ahead log and backlog; in the end the service must hold each record once. Prints a report and
writes it to test/results/soak.txt. Ends with 1 where something leaks, or a record is lost or doubled.

  --hours N      how long; --seconds N for a short one
  --speed N      booth seconds per second, 1 to 100 (10)
  --seed N       of the faults (another one each time)
`;

const RESULTS = new URL("../results/", import.meta.url);

interface Undoing {
  readonly atEnd: AtEnd;
  readonly undo: () => Promise<void>;
}

function undoing(): Undoing {
  const undos: (() => unknown)[] = [];
  return {
    atEnd: (undo) => void undos.push(undo),
    undo: async () => {
      for (const undo of undos.splice(0).reverse()) await undo();
    },
  };
}

/** Parses the arguments. Returns the options, or a text to print instead. */
function callOf(args: string[]): Omit<SoakOptions, "atEnd"> | string {
  const text = { type: "string" } as const;
  const options = { hours: text, seconds: text, speed: text, seed: text, help: { type: "boolean" } } as const;
  const { values } = parseArgs({ args, options });
  if (values.help === true) return HELP;
  const seconds = 3_600 * numberOf("hours", values.hours, 0) + numberOf("seconds", values.seconds, 0);
  if (seconds < 10) throw new Error("say --hours N, or --seconds N with at least 10");
  const speed = numberOf("speed", values.speed, 10);
  if (speed < 1 || speed > 100) throw new Error("--speed must be from 1 to 100");
  return { seconds, speed, seed: Math.floor(numberOf("seed", values.seed, Math.random() * 2 ** 31)) };
}

function numberOf(name: string, text: string | undefined, otherwise: number): number {
  const value = text === undefined ? otherwise : Number(text);
  if (!Number.isFinite(value) || value < 0) throw new Error(`--${name} must be a number`);
  return value;
}

async function run(options: Omit<SoakOptions, "atEnd">): Promise<number> {
  const { atEnd, undo } = undoing();
  process.once("SIGINT", () => void undo().finally(() => process.exit(130)));
  const isTerminal = process.stderr.isTTY;
  const onLook: SoakOptions["onLook"] = ({ at_s, live_mb, files, backlog }, struck) =>
    process.stderr.write(
      `\r${at_s.toFixed(0)} of ${options.seconds} s, ${struck} faults, ${live_mb.toFixed(1)} MB in use, ` +
        `${files} files, ${backlog} records wait   `,
    );
  try {
    const result = await soak({ ...options, atEnd, ...(isTerminal ? { onLook } : {}) });
    if (isTerminal) process.stderr.write("\n");
    const report = reportOf(result);
    mkdirSync(RESULTS, { recursive: true });
    writeFileSync(new URL("soak.txt", RESULTS), report);
    process.stdout.write(report);
    return result.troubles.length === 0 ? 0 : 1;
  } finally {
    await undo();
  }
}

try {
  const call = callOf(process.argv.slice(2));
  if (typeof call === "string") process.stdout.write(call);
  else process.exitCode = await run(call);
} catch (error) {
  process.stderr.write(`${errorMessage(error)}\n`);
  process.exitCode = 2;
}
