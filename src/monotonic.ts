import type { Milliseconds } from "./domain/units.ts";

/**
 * Returns the machine's monotonic clock in ms, with fractions. It measures waits in real time, even if the agent's own clock is simulated.
 * It uses `process.hrtime`, because the global `performance` loads ten more of Node's modules, which would add 5 ms to a start.
 */
export function monotonicMs(): Milliseconds {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1_000 + nanoseconds / 1e6;
}
