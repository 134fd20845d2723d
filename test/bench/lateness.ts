/** How often booths are polled, where nothing else is said. */
export const INTERVAL_MS = 1000;
/** Requests of one poll come close together, so much of the interval is never between them. */
const PAUSE = 0.4;

/** How much later than the beat of its own earliest poll each poll began; the first may have begun before the first arrival. */
export function latenesses(arrivals: readonly number[], interval_ms = INTERVAL_MS): readonly number[] {
  const begins = arrivals.filter((at, i) => i > 0 && at - (arrivals[i - 1] ?? 0) > PAUSE * interval_ms);
  const first = begins[0] ?? 0;
  const offsets = begins.map((at) => at - first - Math.round((at - first) / interval_ms) * interval_ms);
  const earliest = Math.min(...offsets);
  return offsets.map((offset) => offset - earliest);
}
