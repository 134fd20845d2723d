import { existsSync, readFileSync } from "node:fs";
import type { Clock } from "../domain/machine.ts";
import { monotonicMs } from "../monotonic.ts";
import { sleepBy } from "../domain/signal.ts";

/** Path of the file that systemd-timesyncd creates once the clock is synchronized. */
const TIMESYNC_FLAG = "/run/systemd/timesync/synchronized";
const BOOT_ID = "/proc/sys/kernel/random/boot_id";
/** Longest timer of Node (2^31 - 1 ms). A longer sleep is made of several timers. */
const LONGEST_TIMER_MS = 2_147_483_647;

/** Calls `action` after `ms` of real time. Returns a function that cancels the call. */
export function realAfter(ms: number, action: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  const wait = (left: number): void => {
    timer =
      left > LONGEST_TIMER_MS
        ? setTimeout(() => wait(left - LONGEST_TIMER_MS), LONGEST_TIMER_MS)
        : setTimeout(action, Math.max(0, left));
  };
  wait(ms);
  return () => clearTimeout(timer);
}

/** Returns the machine's clocks. On Linux, hrtime is CLOCK_MONOTONIC, which continues when the agent restarts. */
export function systemClock(): Clock {
  return {
    boot: readFileSync(BOOT_ID, "utf8").trim(),
    wall: () => Date.now(),
    mono: () => Math.floor(monotonicMs()),
    synced: () => existsSync(TIMESYNC_FLAG),
    after: realAfter,
    sleep: sleepBy(realAfter),
  };
}
