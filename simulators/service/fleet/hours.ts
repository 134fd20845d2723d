import { HOUR_MS } from "../../../src/domain/time.ts";
import type { Span } from "../base/span.ts";

/** Every zone is a multiple of it away from UTC. */
const QUARTER_MS = HOUR_MS / 4;

/**
 * Returns the hours of a span. A day whose zone isn't whole hours from UTC gets each hour of which it has the greater
 * part; any other instant includes its hour.
 */
export function hoursIn({ start, end }: Span): { first: number; end: number } {
  const isQuarter = (time: number): boolean => time % QUARTER_MS === 0;
  const first = isQuarter(start) ? Math.round(start / HOUR_MS) : Math.floor(start / HOUR_MS);
  return { first, end: isQuarter(end) ? Math.round(end / HOUR_MS) : Math.ceil(end / HOUR_MS) };
}
