import type { Milliseconds } from "./units.ts";
import type { Clock } from "./machine.ts";

/**
 * What one turn of a loop may take at most. Every wait inside has its own, far shorter deadline; a device that lets each of a
 * hundred requests run into its 2 s takes 200 s. Longer than this only a promise that nobody settles any more.
 */
export const LOOP_MS: Milliseconds = 300_000;

/**
 * A loop has come round, however its try went: the next time is within `within_ms` from now at the latest. Infinity: it waits
 * for news, which may never come.
 */
export type CameRound = (within_ms: Milliseconds) => void;

export interface Pulse {
  /** One more loop to watch; it counts from its first turn on. */
  loop(name: string): CameRound;
  /** Loops that should have turned by now. */
  overdue(): readonly string[];
}

/** Knows of each loop by when it must turn again, in monotonic time. */
export function createPulse(clock: Pick<Clock, "mono">): Pulse {
  const due = new Map<string, Milliseconds>();
  return {
    loop: (name) => (within_ms) => void due.set(name, clock.mono() + within_ms),
    overdue: () => [...due].filter(([, by]) => by < clock.mono()).map(([name]) => name),
  };
}
