import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import Database from "better-sqlite3";

const RESULTS = fileURLToPath(new URL("../results", import.meta.url));
/** Test files run in processes of their own; each holds the file for some milliseconds. */
const LOCK_TIMEOUT_MS = 10_000;

/** How far a scenario's figures are off: one line of the table. */
export interface Score {
  /** Number in the domain's list. */
  readonly number: number;
  readonly scenario: string;
  readonly transitions: number;
  /** Largest distance of a transition from the truth, ms; `back`: of a return after a silence, until the link was up. */
  readonly max_error_ms: number;
  readonly back_error_ms: number;
  readonly poll_ms: number;
  /** Cycles, derived / in truth. */
  readonly cycles: readonly [derived: number, truth: number];
  /** Filter changes, derived / in truth. */
  readonly filters: readonly [derived: number, truth: number];
  /** In-use time in overuse, derived minus truth, ms. */
  readonly overuse_error_ms: number;
  /** Revisions entered / in truth, the first included. */
  readonly revisions: readonly [derived: number, truth: number];
  /** Validation incidents found / that the story must lead to. */
  readonly incidents: readonly [found: number, expected: number];
  /** Figures in which gateway and service differ. */
  readonly service_differs: readonly string[];
  /** Answers of box and service that are the same JSON / asked for. */
  readonly answers: readonly [equal: number, asked: number];
  /** The same of a service that got every batch late, in random order, many twice, and the one that got them in order. */
  readonly answers_late: readonly [equal: number, asked: number];
}

export const SCORES_FILE = join(RESULTS, "scenarios.json");

/** Puts the line into test/results/scenarios.json, in place of an earlier one of the same scenario. */
export function recordScore(score: Score): void {
  mkdirSync(RESULTS, { recursive: true });
  // An exclusive transaction is a lock that ends with its process, however that ends.
  const lock = new Database(join(RESULTS, "scenarios.lock"), { timeout: LOCK_TIMEOUT_MS });
  try {
    lock.exec("BEGIN EXCLUSIVE");
    const others = readScores().filter(({ scenario }) => scenario !== score.scenario);
    const all = [...others, score].toSorted((a, b) => a.number - b.number || (a.scenario < b.scenario ? -1 : 1));
    writeFileSync(`${SCORES_FILE}.new`, `${JSON.stringify(all, null, 2)}\n`);
    renameSync(`${SCORES_FILE}.new`, SCORES_FILE);
  } finally {
    lock.close();
  }
}

/** Empty where none has been written yet. */
export function readScores(): Score[] {
  try {
    // Written by this module alone; lines of an older table lack a column.
    const scores = JSON.parse(readFileSync(SCORES_FILE, "utf8")) as Score[];
    return scores.filter((score) => "incidents" in score);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}
