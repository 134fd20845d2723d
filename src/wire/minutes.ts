import type { Milliseconds } from "../core/types/units.ts";

/** Milliseconds as the wire's minutes: ms / 60,000 to 4 decimals, halves up, without a float in between. */
export function minutesOf(ms: Milliseconds): number {
  return Math.round(ms / 6) / 10_000;
}
