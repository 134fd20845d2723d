import type { Block } from "../rules/plan.ts";
import type { Milliseconds } from "../../domain/units.ts";

/** How a device has been answering, over its connections. Counts are since the agent's start. */
export interface Answering {
  /** Its slowest answer, by and by forgotten; null: none is known. */
  slowest_ms: Milliseconds | null;
  /** Requests in a row that weren't answered, or not rightly. */
  silent: number;
  asked: number;
  missed: number;
  /** What it gave values for, of several registers; null: nothing is known. */
  readable: Block | null;
}

/** So many requests in a row without a right answer, and the device is away. One that loses a fifth of them does so once an hour. */
export const MOST_SILENT = 6;
/** A PLC answers once per scan, 50 ms at most; a deadline nearer than two of them would take a busy one for a lost reply. */
const LEAST_ANSWER_MS: Milliseconds = 100;
/** An answer takes at most so many times what the slowest one took. More costs where replies are lost: each is waited for so long. */
const ROOM = 2;
/** A slow answer weighs half as much after 52 others: one in fifty is waited for. */
const FORGETTING = 0.987;

/** Nobody vouches for a device that hasn't answered yet: its first failure counts in full. */
export function unknownDevice(): Answering {
  return { slowest_ms: null, silent: MOST_SILENT, asked: 0, missed: 0, readable: null };
}

export function heard(device: Answering, took_ms: Milliseconds): void {
  device.silent = 0;
  device.slowest_ms = Math.max(took_ms, (device.slowest_ms ?? 0) * FORGETTING);
}

/**
 * How long the next answer is waited for, as the device's answers have taught. The last request before the device is given
 * up has the configured time in full: it may only have become slower.
 */
export function deadlineOf(device: Answering, configured_ms: Milliseconds): Milliseconds {
  if (device.slowest_ms === null || device.silent >= MOST_SILENT - 1) return configured_ms;
  return Math.min(configured_ms, Math.max(LEAST_ANSWER_MS, ROOM * device.slowest_ms));
}
