import { fullJitter } from "../../domain/retrying.ts";
import type { Milliseconds } from "../../domain/units.ts";

/** Failures in a row after which asking on is of no use to anybody. */
const FAILURES = 5;
/** A technician who mends the network doesn't want to wait longer. */
const OPEN = { base_ms: 5_000, cap_ms: 60_000 };

/** Keeps requests from a host that fails all of them. `until`: mono before which nothing is asked. */
export interface Breaker {
  readonly failures: number;
  readonly until: Milliseconds;
}

export const CLOSED: Breaker = { failures: 0, until: 0 };

/** How long nothing is to be asked yet; 0: ask. After that one request in earnest decides. */
export function heldOff({ until }: Breaker, mono: Milliseconds): Milliseconds {
  return Math.max(0, until - mono);
}

/** After an answer of whatever kind that a working service gives. */
export function afterAnswer(breaker: Breaker): Breaker {
  return breaker.failures === 0 ? breaker : CLOSED;
}

/** After no answer, or one that says that the service is down. */
export function afterFailure({ failures }: Breaker, mono: Milliseconds, random: () => number): Breaker {
  const more = failures + 1;
  if (more < FAILURES) return { failures: more, until: 0 };
  return { failures: more, until: mono + fullJitter(more - FAILURES, OPEN, random) };
}
