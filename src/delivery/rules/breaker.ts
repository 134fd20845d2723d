import { fullJitter } from "../../domain/retrying.ts";
import type { Milliseconds } from "../../domain/units.ts";

/** Number of failures in a row after which the breaker opens. */
const FAILURES = 5;
/** Time until the next request while the breaker is open. It is short, so that a technician who repairs the network needn't wait long. */
const OPEN = { base_ms: 5_000, cap_ms: 60_000 };

/** A circuit breaker for a host that fails all requests. `until`: monotonic time before which no request is sent. */
export interface Breaker {
  readonly failures: number;
  readonly until: Milliseconds;
}

export const CLOSED: Breaker = { failures: 0, until: 0 };

/** Returns the time until the next request; 0: the request may be sent now. Its result decides whether the breaker closes. */
export function heldOff({ until }: Breaker, mono: Milliseconds): Milliseconds {
  return Math.max(0, until - mono);
}

/** Returns the breaker after an answer that shows a working service. */
export function afterAnswer(breaker: Breaker): Breaker {
  return breaker.failures === 0 ? breaker : CLOSED;
}

/** Returns the breaker after a missing answer, or after an answer that shows that the service is down. */
export function afterFailure({ failures }: Breaker, mono: Milliseconds, random: () => number): Breaker {
  const more = failures + 1;
  if (more < FAILURES) return { failures: more, until: 0 };
  return { failures: more, until: mono + fullJitter(more - FAILURES, OPEN, random) };
}
