import type { Milliseconds } from "../domain/units.ts";
import type { Clock } from "../domain/machine.ts";

/** A poll that is due has sent its request by then. */
const BEGUN_MS: Milliseconds = 2;
/** With so many polls that there is no gap the work goes on all the same, at a tenth of its speed. */
const LONGEST_WAIT_MS: Milliseconds = 50;

export type PollGaps = ReturnType<typeof createPollGaps>;

/** Where between the polls of all links there is time for work that can wait. */
export function createPollGaps(clock: Pick<Clock, "mono" | "sleep">) {
  const dues = new Map<string, Milliseconds>();
  // A poll under way has no due time yet but its last one, which has passed.
  return {
    /** The link's next poll is due then, in monotonic time. Infinity: it has ended. */
    due(link: string, at: Milliseconds): void {
      if (at === Number.POSITIVE_INFINITY) dues.delete(link);
      else dues.set(link, at);
    },
    /** Resolves when no poll is due for so long; after 50 ms at the latest. */
    async next(needed_ms: Milliseconds): Promise<void> {
      const until = clock.mono() + LONGEST_WAIT_MS;
      const isNear = (at: Milliseconds, now: Milliseconds): boolean => at > now - BEGUN_MS && at <= now + needed_ms;
      for (let now = clock.mono(); now < until; now = clock.mono()) {
        const near = [...dues.values()].filter((at) => isNear(at, now));
        if (near.length === 0) return;
        await clock.sleep(Math.min(until, Math.max(...near) + BEGUN_MS) - now);
      }
    },
  };
}
