import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { clockRecord, reading } from "../support/records.ts";
import { keptStoreIn } from "../support/store.ts";

/**
 * Commits numbered readings, ten at a time, until `commits` have succeeded, and repeats each failed commit. Prints a
 * line for each attempt: "c NUMBER" if all numbers up to NUMBER are durable, "x CODE" if it failed. Then it waits for a
 * line of input, so that a fault that the test switches on applies to the next commit, however slow the machine is.
 * Ends without closing the store, like a kill.
 */
const [folder = "", commits = "0"] = process.argv.slice(2);
const STDOUT = 1;
const say = (line: string): void => void writeSync(STDOUT, `${line}\n`);

const store = keptStoreIn(folder, { now: () => performance.now(), wall: () => Date.now() });
store.openStream("booth-1");

function commit(group: number): boolean {
  const records = Array.from({ length: 10 }, (_, i) => reading((group * 10 + i) * 1_000, "number", group * 10 + i + 1));
  try {
    store.ingest("s-1", group === 0 ? [clockRecord(0), ...records] : records, group + 1);
    say(`c ${(group + 1) * 10}`);
    return true;
  } catch (error) {
    say(`x ${error instanceof Error && "code" in error ? String(error.code) : String(error)}`);
    return false;
  }
}

const words = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
for (let group = 0; group < Number(commits);) {
  if (commit(group)) group += 1;
  if ((await words.next()).done === true) process.exit(1);
}
process.exit(0);
