import type { Milliseconds } from "./domain/units.ts";

/**
 * The machine's own monotonic clock, in ms with parts of them: for what is waited for in real time, whatever clock the box goes by. By the
 * process's own counter, since the global `performance` comes with ten more of Node's modules, 5 ms of a start.
 */
export function monotonicMs(): Milliseconds {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1_000 + nanoseconds / 1e6;
}
