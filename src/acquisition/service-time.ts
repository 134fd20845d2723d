import { isPlausible, withHeard, type Heard } from "./rules/heard.ts";
import type { EpochMs, Milliseconds } from "../domain/units.ts";
import type { ClockVerdict, ServiceTime } from "../domain/service-time.ts";

/** An answer that took longer says too little about the instant at which it was given. */
const LONGEST_EXCHANGE_MS: Milliseconds = 5000;

/** The service's clock as it was heard last, for the clock loop. */
export interface HeardTime extends ServiceTime {
  /** What the last answers of this boot said, oldest first. */
  said(): readonly Heard[];
  /** When the program was made; absent: not known. */
  readonly built_at?: EpochMs;
  judged(verdict: ClockVerdict): void;
}

export function createServiceTime(built_at?: EpochMs): HeardTime {
  let said: readonly Heard[] = [];
  let verdict: ClockVerdict = { synced: false, offset_ms: null };
  return {
    heard({ way, time, sent, received }) {
      const took = received - sent;
      if (took < 0 || took >= LONGEST_EXCHANGE_MS || !isPlausible(time)) return;
      // The answer was made at some moment in between: the middle is off by half of it at most.
      said = withHeard(said, { way, mono: received, offset: Math.round(time - sent - took / 2) });
    },
    said: () => said,
    ...(built_at === undefined ? {} : { built_at }),
    judged(now) {
      verdict = now;
    },
    verdict: () => verdict,
  };
}
