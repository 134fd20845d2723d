import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Clock } from "../../domain/machine.ts";
import type { Milliseconds } from "../../domain/units.ts";

/**
 * For every thread of this process, a third of its memory. Node's own modules come with code that was compiled without any of
 * these, and is of no use once one is set: so they are set once the store's thread, the last one of a start, has begun.
 */
export function keepMemorySmall(): void {
  // The young generation stays at its first 1 MB per half instead of 16: hardly anything of a poll outlives the poll.
  setFlagsFromString("--semi-space-growth-factor=1");
  // The last and largest of the compilers stays out of memory, 6 MB of the program; the one before it makes code that is about as fast.
  setFlagsFromString("--no-turbofan");
  // What only a start ran goes with the first collection after it, instead of the sixth.
  setFlagsFromString("--bytecode-old-age=1");
  setFlagsFromString("--flush-baseline-code");
  setFlagsFromString("--optimize-for-size");
  // Of so small a young generation helpers take longer to wake, on a busy box, than the thread that waits for them needs alone.
  setFlagsFromString("--no-parallel-scavenge");
  // Making the bytecode of Node's own expression for IPv6 addresses, which a port's opening asks, shorter takes as long as making it.
  setFlagsFromString("--no-regexp-peephole-optimization");
}

/** From so many on, what their polls leave behind costs more to collect in little room than the room does. */
export const MANY_BOOTHS = 16;
/** What goes through in bulk, chunks and reports, needs the room for so long after the last of it. */
const BULK_MS: Milliseconds = 60_000;
/** The room doubles with a collection, of which there are some ten a second. */
const GROWING_LOOK_MS: Milliseconds = 50;
/** Of both halves of the main thread's young generation: what a poll leaves of each of 64 booths lives for one interval, 6 MB in all. */
const ROOM_BYTES = 8 * 1_048_576;

/**
 * Lets the young generation grow, for many booths; true: it has its room now, and stays so. In 1 MB what lives until the next poll is
 * taken for what stays for good, and the whole heap is collected for it every few seconds, 10 to 50 ms of the main thread's each time.
 */
export function growYoung(): boolean {
  const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space");
  const isGrown = (young?.space_size ?? Infinity) >= ROOM_BYTES;
  // Or each collection would shrink it again.
  setFlagsFromString("--no-optimize-for-size");
  setFlagsFromString(`--semi-space-growth-factor=${isGrown ? "1" : "2"}`);
  return isGrown;
}

/** Each collection takes some of it back. */
function shrinkYoung(): void {
  setFlagsFromString("--semi-space-growth-factor=1");
  setFlagsFromString("--optimize-for-size");
}

/**
 * Makes room in the young generation whenever told that much goes through, for as long as that lasts: without it what is in flight to the
 * service or to a page is taken for what stays, and the whole heap is collected for it twice in three seconds, while polls wait.
 */
export function youngRoom(clock: Pick<Clock, "mono" | "sleep">, signal: AbortSignal): (for_ms?: Milliseconds) => void {
  let until: Milliseconds = 0;
  let isGrown = false;
  const keep = async (): Promise<void> => {
    // Where little goes through after all it never grows, and need not.
    while (clock.mono() < until && !growYoung()) await clock.sleep(GROWING_LOOK_MS, signal);
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
 * Collects all garbage of this thread, gives free pages back, and forgets code that hasn't run since the last collection: what a start
 * leaves is a third of a heap that grows, and hardly ever shrinks by itself. It takes some 50 ms, once. Node shows the collector to new
 * contexts alone, after a flag.
 */
export function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as NodeJS.GCFunction;
  collect({ type: "major", execution: "sync", flavor: "last-resort" });
}
