import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

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
}

/** From so many on, what their polls leave behind costs more to collect in little room than the room does. */
export const MANY_BOOTHS = 16;
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
