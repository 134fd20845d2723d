#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { FaultEntry } from "../support/faults.ts";
import { writeBlock } from "../support/made-block.ts";
import { accountOf, type RowAccount, strangers } from "./account.ts";
import { MATRIX } from "./matrix.ts";
import { countedText, matrixBlock } from "./texts.ts";
import { errorMessage } from "../../src/domain/error-message.ts";

const RESULTS = new URL("../results/faults.json", import.meta.url);
const HELP = `npm run faults [-- --all | --write]

Prints the fault matrix with what the tests counted in test/results/faults.json. Exits with 1 if a fault was injected and
its promise did not hold, or if .ci/run has a test for a row and no test injected it.

  --all      a row that only .ci/nightly injects must have been injected, too
  --write    writes the matrix into docs/reference/fault-matrix.md
`;

function entriesOf(file: URL): readonly FaultEntry[] {
  // Written by the tests' own module alone.
  return JSON.parse(readFileSync(file, "utf8")) as FaultEntry[];
}

function show(needsAll: boolean): number {
  const entries = entriesOf(RESULTS);
  const accounts = accountOf(MATRIX, entries);
  const odd = strangers(MATRIX, entries).map(({ row, fault }) => `row ${row} isn't in the matrix: ${fault}\n`);
  const left = accounts.filter(({ row, entries: count }) => !needsAll && row.is_nightly === true && count === 0);
  const bad = accounts.filter((account) => account.trouble !== null && !left.includes(account));
  const counted = accounts.filter((account) => account.entries > 0);
  const injected = counted.reduce((sum, account) => sum + account.injected, 0);
  const rowsOf = (some: readonly RowAccount[]): string => some.map(({ row }) => row.row).join(", ");
  process.stdout.write(`${countedText(accounts)}\n${odd.join("")}`);
  process.stdout.write(`${counted.length} of ${MATRIX.length} rows, ${injected} faults injected\n`);
  if (left.length > 0) process.stdout.write(`injected by .ci/nightly only: ${rowsOf(left)}\n`);
  if (bad.length > 0) process.stdout.write(`not held or not injected: ${rowsOf(bad)}\n`);
  return bad.length + odd.length > 0 ? 1 : 0;
}

try {
  const flag = { type: "boolean", default: false } as const;
  const { values } = parseArgs({ options: { all: flag, write: flag, help: flag } });
  if (values.help) process.stdout.write(HELP);
  else if (values.write) await writeBlock(matrixBlock());
  else process.exitCode = show(values.all);
} catch (error) {
  process.stderr.write(`${errorMessage(error)}\n`);
  process.exitCode = 2;
}
