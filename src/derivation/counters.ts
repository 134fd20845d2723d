import type { CounterParameters } from "../domain/parameters.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { CounterState } from "./state.ts";

/** Slack on the fastest plausible growth. */
const RATE_SLACK = 1.5;
const HOUR_MS = 3_600_000;

export type CountKind = "normal" | "wrap" | "reset" | "unexplained";

export interface Count {
  readonly kind: CountKind;
  /** What it counted since the reading before, in the tag's unit; never negative. */
  readonly delta: number;
}

export interface Pair {
  readonly previous: number;
  readonly next: number;
  /** Since the last good reading. */
  readonly elapsed_ms: Milliseconds;
  /** The PLC restarted, or the reset was declared. */
  readonly restarted: boolean;
  readonly counter: CounterParameters;
  /** In the tag's unit per hour; absent: any growth is plausible. */
  readonly max_rate_per_h: number | undefined;
}

/**
 * What two readings of a counter mean. A wrap needs a known modulus and a plausible rate; a reset needs restart
 * evidence or a value small enough to have been counted from 0 since; any other fall, and a jump beyond
 * one step + rate x time x 1.5, is unexplained and books nothing.
 */
export function countOf(pair: Pair): Count {
  const { previous, next, counter } = pair;
  const rate = pair.max_rate_per_h;
  const room = roomOf(pair);
  // Decoded values carry rounding of the scale; half a step is far below what two counts differ by.
  const fits = (delta: number): boolean => delta <= room + counter.step * 1e-6;
  const delta = next - previous;
  if (delta >= 0) return fits(delta) ? { kind: "normal", delta } : { kind: "unexplained", delta: 0 };
  const { modulus } = counter;
  if (modulus !== undefined && rate !== undefined && previous < modulus && fits(delta + modulus)) {
    return { kind: "wrap", delta: delta + modulus };
  }
  if (rate !== undefined && next >= 0 && fits(next)) return { kind: "reset", delta: next };
  return { kind: pair.restarted ? "reset" : "unexplained", delta: 0 };
}

/** The most that it can have counted in that time, in the tag's unit. */
export function roomOf(pair: Pick<Pair, "elapsed_ms" | "counter" | "max_rate_per_h">): number {
  const { elapsed_ms, counter, max_rate_per_h: rate } = pair;
  return rate === undefined ? Infinity : counter.step + ((rate * Math.max(elapsed_ms, 0)) / HOUR_MS) * RATE_SLACK;
}

/** Books a count in whole steps. */
export function book(state: CounterState, count: Count, step: number): number {
  const steps = Math.round(count.delta / step);
  state.total_steps += steps;
  if (count.kind === "reset" || count.kind === "unexplained") state.odd += 1;
  return steps;
}
