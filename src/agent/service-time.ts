import type { Milliseconds } from "../core/types/units.ts";
import type { ServiceTime } from "../ports.ts";

/** An answer that took longer says too little about the instant at which it was given. */
const LONGEST_EXCHANGE_MS: Milliseconds = 5000;

/** The service's clock as it was heard last, for the clock loop. */
export interface HeardTime extends ServiceTime {
  /** The service's time minus mono; null: nothing was heard in this boot. */
  service_offset(): Milliseconds | null;
  /** The clock loop's verdict: corrected time minus wall clock; null while nobody vouched for any time. */
  judged(offset: Milliseconds | null): void;
}

export function createServiceTime(): HeardTime {
  let heard: Milliseconds | null = null;
  let verdict: Milliseconds | null = null;
  return {
    heard({ time, sent, received }) {
      const took = received - sent;
      // The answer was made at some moment in between: the middle is off by half of it at most.
      if (took >= 0 && took < LONGEST_EXCHANGE_MS) heard = Math.round(time - sent - took / 2);
    },
    service_offset: () => heard,
    judged(offset) {
      verdict = offset;
    },
    offset: () => verdict,
  };
}
