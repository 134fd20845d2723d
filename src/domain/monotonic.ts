import type { Milliseconds } from "./units.ts";

/**
 * The machine's own monotonic clock, in ms with parts of them: for what is waited for in real time, whatever clock the box goes by. By the
 * process's own counter, since the global `performance` comes with ten more of Node's modules, 5 ms of a start.
 */
export function monotonicMs(): Milliseconds {
  // eslint-disable-next-line no-restricted-globals -- no rule calls it: those are given a clock; it is here for all stations that wait
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1_000 + nanoseconds / 1e6;
}
