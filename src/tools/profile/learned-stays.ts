import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { Draft } from "./file.ts";
import type { Stay } from "../rules/profile-modes.ts";

/** What was looked at in each mode before somebody stopped: beside the profile, so that the next one goes on there. */

/** A booth that was worked with since then may have other values in its counters, and another program. */
const HOLDS_MS = 3_600_000;

/** By their place in the order in which the modes are asked for. */
export type StaysDone = ReadonlyMap<number, Stay>;

interface Kept {
  /** What was to be learned, and where. */
  readonly wish: string;
  readonly at: number;
  readonly stays: readonly (readonly [
    index: number,
    mode: Stay["mode"],
    looks: readonly (readonly [string, number][])[],
  ])[];
}

const fileOf = ({ path }: Draft): string => `${path}.learning`;

/** Those of the same wish, an hour old at most; else none. */
export function staysDone(draft: Draft, wish: string, now: number): StaysDone {
  const file = fileOf(draft);
  if (!existsSync(file)) return new Map();
  const kept = keptIn(readFileSync(file, "utf8"));
  if (kept === null || kept.wish !== wish || now - kept.at > HOLDS_MS) return new Map();
  return new Map(
    kept.stays.map(([index, mode, looks]) => [index, { mode, looks: looks.map((look) => new Map(look)) }]),
  );
}

export function keepStays(draft: Draft, done: StaysDone, { wish, at }: Pick<Kept, "wish" | "at">): void {
  const stays = [...done].map(([index, { mode, looks }]) => [index, mode, looks.map((look) => [...look])] as const);
  writeFileSync(fileOf(draft), JSON.stringify({ wish, at, stays } satisfies Kept), { mode: 0o644 });
}

export function forgetStays(draft: Draft): void {
  rmSync(fileOf(draft), { force: true });
}

/** Written above alone; one that a power cut left in half is as none. */
function keptIn(text: string): Kept | null {
  try {
    return JSON.parse(text) as Kept;
  } catch {
    return null;
  }
}
