import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import type { Placed } from "../../src/domain/record.ts";
import type { TakenEntry } from "../../src/domain/taken.ts";

/**
 * Reads the entries that a dead agent left in its tail file, without the agent's own code. A truncated line ends them.
 */
export function tailEntries(runtimeDir: string): TakenEntry[] {
  const entries: TakenEntry[] = [];
  for (const line of textOf(join(runtimeDir, "tail.jsonl")).split("\n")) {
    const sum = line.slice(0, 8);
    const body = line.slice(9);
    if (body === "" || crc32(body) !== Number.parseInt(sum, 16)) break;
    entries.push(JSON.parse(body) as TakenEntry);
  }
  return entries;
}

export interface Accounts {
  readonly records: number;
  /** Number of polls in coverage records, by group. */
  readonly polls: Readonly<Record<string, number>>;
  /** Number of takes in the log: answered polls, silences, and records other than polls. */
  readonly takes: number;
  /** Number of records with the same content at the same instant as an earlier record. */
  readonly doubled: number;
}

/** An event that the store makes itself, so it has no take. */
const STORES_OWN = "store_damaged";

/** Counts the takes of a log. Facts are only counted, because the store makes them. */
export function accountsOf(records: readonly Placed[]): Accounts {
  const polls: Record<string, number> = {};
  const seen = new Set<string>();
  let takes = 0;
  let doubled = 0;
  for (const record of records) {
    const { kind, boot, mono, tag, value } = record;
    if (kind === "h") {
      polls[tag] = (polls[tag] ?? 0) + record.value.polls;
      takes += Math.max(1, record.value.polls);
    } else if (kind === "t" || kind === "p" || (kind === "e" && value.event !== STORES_OWN)) takes += 1;
    const what = kind === "r" || kind === "h" ? tag : JSON.stringify(value);
    const key = [kind, boot, mono, what].join("|");
    if (seen.has(key)) doubled += 1;
    seen.add(key);
  }
  return { records: records.length, polls, takes, doubled };
}

/**
 * Returns the entries that are missing in the log. A poll must be covered, and each of its changes must be a record.
 */
export function lostOf(entries: readonly TakenEntry[], records: readonly Placed[]): readonly TakenEntry[] {
  const covered = records.flatMap((record) => (record.kind === "h" ? [record] : []));
  const held = new Set(records.map(({ kind, boot, mono, tag, value }) => keyOf([kind, boot, mono, tag, value])));
  const isHeld = (entry: TakenEntry): boolean => {
    if (entry.kind === "record") {
      const { kind, boot, mono, tag, value } = entry.record;
      return held.has(keyOf([kind, boot, mono, tag, value]));
    }
    const { boot, mono, group, changes } = entry;
    const isCovered = covered.some(
      (one) => one.boot === boot && one.tag === group && one.value.from <= mono && mono <= one.value.to,
    );
    return isCovered && changes.every(([tag, value]) => held.has(keyOf(["r", boot, mono, tag, value])));
  };
  return entries.filter((entry) => !isHeld(entry));
}

function keyOf(parts: readonly unknown[]): string {
  return JSON.stringify(parts);
}

/** An agent that was killed before it opened its tail left no file. */
function textOf(path: string): string {
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}
