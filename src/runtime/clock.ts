import { existsSync, readFileSync } from "node:fs";
import type { Clock } from "../domain/machine.ts";
import { sleepBy } from "../domain/signal.ts";

/** systemd-timesyncd leaves this file once it has synchronised the clock. */
const TIMESYNC_FLAG = "/run/systemd/timesync/synchronized";
const BOOT_ID = "/proc/sys/kernel/random/boot_id";
/** Longest single timer of Node (2^31 - 1 ms): longer sleeps are made of several. */
const LONGEST_TIMER_MS = 2_147_483_647;

function monotonicMs(): number {
  return Math.floor(Number(process.hrtime.bigint()) / 1e6);
}

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
    mono: monotonicMs,
    synced: () => existsSync(TIMESYNC_FLAG),
    after: realAfter,
    sleep: sleepBy(realAfter),
  };
}

/** What a site simulation writes for its processes, so that all of them live in one scaled time. */
export interface ClockFile {
  readonly boot: string;
  /** Simulated ms per real ms. */
  readonly speed: number;
  /** CLOCK_MONOTONIC of the machine, ns, at which the simulated monotonic clock stood at 0. */
  readonly monotonic_origin_ns: string;
  /** Simulated wall clock at that instant. */
  readonly wall_origin_ms: number;
}

/** Simulation only: one scaled clock for PLC, agent and service. Throws when the file isn't one. */
export function clockFromFile(path: string): Clock {
  const file = JSON.parse(readFileSync(path, "utf8")) as Partial<ClockFile>;
  const { boot, speed, monotonic_origin_ns, wall_origin_ms } = file;
  if (boot === undefined || speed === undefined || monotonic_origin_ns === undefined || wall_origin_ms === undefined) {
    throw new Error(`${path} is not a clock file: boot, speed, monotonic_origin_ns and wall_origin_ms are needed`);
  }
  const origin = BigInt(monotonic_origin_ns);
  const mono = (): number => Math.floor((Number(process.hrtime.bigint() - origin) / 1e6) * speed);
  const after: Clock["after"] = (ms, act) => realAfter(ms / speed, act);
  return {
    boot,
    wall: () => wall_origin_ms + mono(),
    mono,
    synced: () => true,
    after,
    sleep: sleepBy(after),
  };
}
