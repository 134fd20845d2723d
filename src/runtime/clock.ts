import { existsSync, readFileSync } from "node:fs";
import type { Clock } from "../domain/machine.ts";
import { monotonicMs } from "../monotonic.ts";
import { sleepBy } from "../domain/signal.ts";

/** systemd-timesyncd leaves this file once it has synchronised the clock. */
const TIMESYNC_FLAG = "/run/systemd/timesync/synchronized";
const BOOT_ID = "/proc/sys/kernel/random/boot_id";
/** Longest single timer of Node (2^31 - 1 ms): longer sleeps are made of several. */
const LONGEST_TIMER_MS = 2_147_483_647;

/** In real time. */
export function realAfter(ms: number, act: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  const wait = (left: number): void => {
    timer =
      left > LONGEST_TIMER_MS
        ? setTimeout(() => wait(left - LONGEST_TIMER_MS), LONGEST_TIMER_MS)
        : setTimeout(act, Math.max(0, left));
  };
  wait(ms);
  return () => clearTimeout(timer);
}

/** The machine's own clocks. hrtime is CLOCK_MONOTONIC on Linux, so it goes on over a restart of the agent. */
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
