import type { Clock } from "../domain/machine.ts";
import type { Milliseconds } from "../domain/units.ts";

/** Longest time from a poll's due time until its request is sent. */
const STARTED_MS: Milliseconds = 2;
/** Longest wait for a gap. If the polls leave no gap, the work still continues, at a tenth of its speed. */
const LONGEST_WAIT_MS: Milliseconds = 50;

export type PollGaps = ReturnType<typeof createPollGaps>;

/** Finds gaps between the polls of all links for work that can wait. */
export function createPollGaps(clock: Pick<Clock, "mono" | "sleep">) {
  // Due times by link. The due time of a poll under way is in the past.
  const dues = new Map<string, Milliseconds>();
  return {
    /** Sets the monotonic time of the link's next poll. Infinity: the link has ended. */
    due(link: string, at: Milliseconds): void {
      if (at === Number.POSITIVE_INFINITY) dues.delete(link);
      else dues.set(link, at);
    },
    /** Resolves when no poll is due for `needed_ms`, but after 50 ms at the latest. */
    async next(needed_ms: Milliseconds): Promise<void> {
      const until = clock.mono() + LONGEST_WAIT_MS;
      for (let now = clock.mono(); now < until; now = clock.mono()) {
        const near = [...dues.values()].filter((at) => at > now - STARTED_MS && at <= now + needed_ms);
        if (near.length === 0) return;
        await clock.sleep(Math.min(until, Math.max(...near) + STARTED_MS) - now);
      }
    },
  };
}
