import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

/** Simulated time, shared by all processes of a simulated site. The agent has its own implementation of a clock. */
export interface SimClock {
  readonly boot: string;
  /** Epoch ms, simulated. */
  wall(): number;
  /** Simulated ms since the clock's origin. It never decreases. */
  mono(): number;
  /** Resolves after `ms` of simulated time; rejects with the signal's reason when aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The origin of simulated time, shared by all processes of a machine. */
export interface ClockOrigin {
  readonly boot: string;
  /** Simulated ms per real ms, above 0. */
  readonly speed: number;
  /** process.hrtime.bigint() (CLOCK_MONOTONIC, the same for all processes of a machine) at mono 0. */
  readonly monotonic_origin_ns: bigint;
  /** Simulated epoch ms at mono 0. */
  readonly wall_origin_ms: number;
}

/** Longest single timer, because setTimeout fires at once above 2^31 - 1 ms. */
const MAX_TIMER_MS = 2_000_000_000;

export function scaledClock(origin: ClockOrigin): SimClock {
  const mono = (): number => (Number(process.hrtime.bigint() - origin.monotonic_origin_ns) / 1_000_000) * origin.speed;
  return {
    boot: origin.boot,
    mono,
    wall: () => Math.floor(origin.wall_origin_ms + mono()),
    sleep: async (ms, signal) => {
      signal?.throwIfAborted();
      const until = mono() + ms;
      for (let left = ms; left > 0; left = until - mono()) {
        await delay(Math.min(left / origin.speed, MAX_TIMER_MS), undefined, signal ? { signal } : {}).catch(
          (error: unknown) => {
            signal?.throwIfAborted();
            throw error;
          },
        );
      }
    },
  };
}

/** Starts a clock now. `wall_origin_ms` defaults to the machine's wall clock. */
export function clockFromNow(speed: number, wall_origin_ms: number = Date.now()): ClockOrigin {
  return { boot: crypto.randomUUID(), speed, monotonic_origin_ns: process.hrtime.bigint(), wall_origin_ms };
}

/**
 * Reads the clock file that a site writes for its parts: JSON `{boot, speed, monotonic_origin_ns: "digits",
 * wall_origin_ms}`. Throws an Error that names the file and the mistake.
 */
export function readClockFile(path: string): ClockOrigin {
  const value: unknown = JSON.parse(readFileSync(path, "utf8"));
  const fields = new Map(Object.entries(value ?? {}) as [string, unknown][]);
  const boot = fields.get("boot");
  const speed = fields.get("speed");
  const origin = fields.get("monotonic_origin_ns");
  const wall = fields.get("wall_origin_ms");
  if (typeof boot !== "string" || typeof speed !== "number" || !(speed > 0)) {
    throw new Error(`${path}: boot must be a string and speed a number above 0`);
  }
  if (typeof origin !== "string" || !/^\d+$/.test(origin) || typeof wall !== "number") {
    throw new Error(`${path}: monotonic_origin_ns must be a string of digits and wall_origin_ms a number`);
  }
  return { boot, speed, monotonic_origin_ns: BigInt(origin), wall_origin_ms: wall };
}

/** Returns the text that `readClockFile` reads. `pace`: the file in which a site publishes the present speed. */
export function clockFileText(
  origin: ClockOrigin,
  pace?: { readonly file: string; readonly stretch_ms: number },
): string {
  return JSON.stringify({ ...origin, pace, monotonic_origin_ns: origin.monotonic_origin_ns.toString() });
}
