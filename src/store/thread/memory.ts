import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Clock } from "../../domain/machine.ts";
import type { Milliseconds } from "../../domain/units.ts";

/**
 * Sets V8's flags for low memory, in all threads of this process, which saves a third. Node's own modules come with code that was compiled
 * without these flags and is discarded once one is set. So they are set when the store's thread, the last one of a start, has begun.
 */
export function keepMemorySmall(): void {
  // The young generation stays at its initial 1 MB per half instead of 16: hardly any object outlives its poll.
  setFlagsFromString("--semi-space-growth-factor=1");
  // The last and largest compiler isn't loaded, which saves 6 MB; the code of the one before it is about as fast.
  setFlagsFromString("--no-turbofan");
  // Code that only a start ran is freed by the first collection after it, instead of the sixth.
  setFlagsFromString("--bytecode-old-age=1");
  setFlagsFromString("--flush-baseline-code");
  setFlagsFromString("--optimize-for-size");
  // With so small a young generation, waking helper threads on a busy box takes longer than collecting it alone.
  setFlagsFromString("--no-parallel-scavenge");
  // Optimising the bytecode of Node's regular expression for IPv6 addresses takes as long as compiling it.
  setFlagsFromString("--no-regexp-peephole-optimization");
}

/** Number of booths from which on collecting a small young generation costs more than a larger one. */
export const MANY_BOOTHS = 16;
/** Time for which the young generation stays large after the last bulk transfer (chunks, reports). */
const BULK_MS: Milliseconds = 60_000;
/** Interval of the check while it grows: it doubles with each collection, of which there are some ten a second. */
const GROWTH_CHECK_MS: Milliseconds = 50;
/** Size of both halves of the main thread's young generation: objects of 64 booths' polls live for one interval, 6 MB in all. */
const LARGE_YOUNG_BYTES = 8 * 1_048_576;

/**
 * Lets the young generation grow; true: it is large now, and stays so. With 1 MB, objects that live until the next poll are promoted to the
 * old generation, which is then collected every few seconds, for 10 to 50 ms of the main thread.
 */
export function growYoung(): boolean {
  const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space");
  const isGrown = (young?.space_size ?? Infinity) >= LARGE_YOUNG_BYTES;
  // Otherwise each collection would shrink it again.
  setFlagsFromString("--no-optimize-for-size");
  setFlagsFromString(`--semi-space-growth-factor=${isGrown ? "1" : "2"}`);
  return isGrown;
}

/** Lets each collection shrink the young generation. */
function shrinkYoung(): void {
  setFlagsFromString("--semi-space-growth-factor=1");
  setFlagsFromString("--optimize-for-size");
}

/**
 * Returns a function that keeps the young generation large during a bulk transfer. Without it, data in flight to the service or to a page is
 * promoted, and the whole heap is collected twice in three seconds, while polls wait.
 */
export function youngRoom(clock: Pick<Clock, "mono" | "sleep">, signal: AbortSignal): (for_ms?: Milliseconds) => void {
  let until: Milliseconds = 0;
  let isGrown = false;
  const keep = async (): Promise<void> => {
    // With few collections it doesn't grow, and needn't.
    while (clock.mono() < until && !growYoung()) await clock.sleep(GROWTH_CHECK_MS, signal);
    for (let left = until - clock.mono(); left > 0; left = until - clock.mono())
      await clock.sleep(Math.min(left, BULK_MS), signal);
    shrinkYoung();
    isGrown = false;
  };
  return (for_ms = BULK_MS) => {
    until = Math.max(until, clock.mono() + for_ms);
    if (isGrown) return;
    isGrown = true;
    void keep().catch(() => undefined); // it ends with the agent, and rejects then
  };
}

/** Time from a thread's first commit to the collection of its garbage: the collection takes 50 ms, which a start on a slow box has not to spare. */
export const COLLECT_AFTER_MS: Milliseconds = 2_000;

/**
 * Collects all garbage of this thread, returns free pages, and discards code that hasn't run since the last collection. A start leaves a
 * third of the heap as garbage, and the heap hardly shrinks by itself. Takes some 50 ms, once. Node exposes the collector only to new
 * contexts, after a flag.
 */
export function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as NodeJS.GCFunction;
  collect({ type: "major", execution: "sync", flavor: "last-resort" });
}
