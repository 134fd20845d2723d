import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Clock } from "../../domain/machine.ts";
import type { Milliseconds } from "../../domain/units.ts";

/**
 * Sets V8's flags for low memory in all threads of this process, which saves a third. V8 discards the precompiled code of Node's own
 * modules when a flag is set. So the flags are set only after the store thread, the last thread of a start, has begun.
 */
export function keepMemorySmall(): void {
  // Keeps the young generation at its initial 1 MB per half (default limit 16 MB), because hardly any object lives longer than its poll.
  setFlagsFromString("--semi-space-growth-factor=1");
  // Doesn't load the last and largest compiler, which saves 6 MB. Code of the compiler before it is about as fast.
  setFlagsFromString("--no-turbofan");
  // Frees code that only a start runs after one garbage collection instead of six.
  setFlagsFromString("--bytecode-old-age=1");
  setFlagsFromString("--flush-baseline-code");
  setFlagsFromString("--optimize-for-size");
  // Collects with one thread: for such a small young generation, waking helper threads on a busy box takes longer than the collection.
  setFlagsFromString("--no-parallel-scavenge");
  // Skips optimizing regular expressions: for Node's expression for IPv6 addresses, that takes as long as compiling it.
  setFlagsFromString("--no-regexp-peephole-optimization");
}

/** Number of booths from which a small young generation costs more collection time than a larger one. */
export const MANY_BOOTHS = 16;
/** Time for which the young generation stays large after the last bulk transfer (chunks or reports). */
const BULK_MS: Milliseconds = 60_000;
/** Interval for checking the young generation while it grows. Each collection doubles it, and there are about ten collections a second. */
const GROWTH_CHECK_MS: Milliseconds = 50;
/**
 * Size of both halves of the main thread's young generation when large. Objects of 64 booths' polls, 6 MB in all, live for one interval.
 */
const LARGE_YOUNG_BYTES = 8 * 1_048_576;

/**
 * Lets the young generation grow. Returns true once it is large; it then stays large. With 1 MB, objects that live until the next poll move
 * to the old generation. Collecting these objects every few seconds blocks the main thread for 10 to 50 ms.
 */
export function growYoung(): boolean {
  const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space");
  const isGrown = (young?.space_size ?? Infinity) >= LARGE_YOUNG_BYTES;
  // Without this flag, each collection would shrink the young generation again.
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
 * Returns a function that keeps the young generation large during a bulk transfer. Otherwise, data on its way to the service or a page
 * moves to the old generation. The whole heap is then collected twice in three seconds, while polls wait.
 */
export function youngRoom(clock: Pick<Clock, "mono" | "sleep">, signal: AbortSignal): (for_ms?: Milliseconds) => void {
  let until: Milliseconds = 0;
  let isGrown = false;
  const keep = async (): Promise<void> => {
    // With few collections, the young generation doesn't grow and needn't.
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

/** Time from a thread's first commit to its garbage collection. The collection takes 50 ms, which would delay a start on a slow box. */
export const COLLECT_AFTER_MS: Milliseconds = 2_000;

/**
 * Collects all garbage of this thread, returns free pages to the system, and discards code that hasn't run since the last collection. A
 * start leaves a third of the heap as garbage, and the heap hardly shrinks by itself. Takes about 50 ms, once. Node offers the collector
 * only to new contexts, and only with a flag.
 */
export function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as NodeJS.GCFunction;
  collect({ type: "major", execution: "sync", flavor: "last-resort" });
}
