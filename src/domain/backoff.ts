import type { Milliseconds } from "./units.ts";

export interface Backoff {
  /** Upper bound of the first wait. */
  readonly base_ms: Milliseconds;
  /** Upper bound of any wait. */
  readonly cap_ms: Milliseconds;
}

/**
 * Full jitter: uniform in [0, min(cap, base x 2^attempt)).
 * @param attempt 0 after the first failure, 1 after the second, ...
 * @param rnd uniform in [0, 1)
 */
export function fullJitter(attempt: number, backoff: Backoff, rnd: () => number): Milliseconds {
  // 2 ** 1024 is Infinity: min() makes the cap of it, so attempts needn't be bounded by the caller.
  const ceiling = Math.min(backoff.cap_ms, backoff.base_ms * 2 ** Math.max(0, attempt));
  return Math.floor(rnd() * ceiling);
}
