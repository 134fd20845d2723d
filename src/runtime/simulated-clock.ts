import { openSync, readFileSync, readSync, writeSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Driver } from "../acquisition/port.ts";
import type { Clock } from "../domain/machine.ts";
import { sleepBy } from "../domain/signal.ts";
import { realAfter } from "./clock.ts";

/** The clock file of a simulated site, with which all processes of the site share one scaled time. */
interface ClockFile {
  readonly boot: string;
  /** Simulated milliseconds per real millisecond. */
  readonly speed: number;
  /** Reading of the machine's CLOCK_MONOTONIC, ns, at which the simulated monotonic clock was 0. */
  readonly monotonic_origin_ns: string;
  /** Simulated wall clock at the same instant. */
  readonly wall_origin_ms: number;
  /**
   * Pace of a clock that waits for polls; absent: the speed is constant. `file`, in the same folder, holds the present speed. After a poll,
   * the clock runs for up to `stretch_ms` before it waits for the next poll.
   */
  readonly pace?: { readonly file: string; readonly stretch_ms: number };
}

export interface SimulatedClock extends Clock {
  /** Wraps a driver so that the clock stands still during its reads, because an answer must have the time of its request. */
  readonly paced: (driver: Driver) => Driver;
}

/**
 * A stretch of simulated time that starts with `mono` at `at_ns`. The clock runs at `speed` up to `limit`, and then no faster than real
 * time.
 */
interface Stretch {
  readonly mono: number;
  readonly at_ns: bigint;
  readonly speed: number;
  readonly limit: number;
}

/** Longest time until a running timer notices a change of the speed, ms. */
const LONGEST_UNSEEN_MS = 100;
/**
 * Size of a stored stretch. Little-endian fields: number, mono (f64), at_ns (i64), speed (f64), limit (f64), number. If the two numbers
 * differ, the record is half-written.
 */
const RECORD_BYTES = 40;

/** Opens the clock of a simulated site. Throws if the file is not a clock file. */
export function clockFromFile(path: string): SimulatedClock {
  const file = JSON.parse(readFileSync(path, "utf8")) as Partial<ClockFile>;
  const { boot, speed, monotonic_origin_ns, wall_origin_ms, pace } = file;
  if (boot === undefined || speed === undefined || monotonic_origin_ns === undefined || wall_origin_ms === undefined) {
    throw new Error(`${path} is not a clock file: boot, speed, monotonic_origin_ns and wall_origin_ms are needed`);
  }
  const steady = { mono: 0, at_ns: BigInt(monotonic_origin_ns), speed, limit: Infinity };
  const record = pace === undefined ? null : openRecord(resolve(dirname(path), pace.file), steady);
  const stretch = (): Stretch => record?.read() ?? steady;
  const mono = (): number => Math.floor(monoAt(stretch(), process.hrtime.bigint()));
  const after = afterBy(mono, () => stretch().speed);
  return {
    boot,
    mono,
    after,
    sleep: sleepBy(after),
    wall: () => wall_origin_ms + mono(),
    synced: () => true,
    paced: (driver) => (record === null || pace === undefined ? driver : pacedBy(record, pace.stretch_ms, driver)),
  };
}

/** Returns timers for a clock whose speed may change while they run. */
function afterBy(mono: () => number, speed: () => number): Clock["after"] {
  return (ms, action) => {
    const due = mono() + ms;
    let cancel = (): void => undefined;
    const wait = (left: number): void => {
      cancel = realAfter(Math.min(Math.ceil(left / speed()), LONGEST_UNSEEN_MS), check);
    };
    const check = (): void => {
      const left = due - mono();
      if (left <= 0) action();
      else wait(left);
    };
    wait(ms);
    return () => cancel();
  };
}

function monoAt({ mono, at_ns, speed, limit }: Stretch, now_ns: bigint): number {
  const real_ms = Number(now_ns - at_ns) / 1e6;
  const fast_ms = Math.max(0, limit - mono) / speed;
  return real_ms <= fast_ms
    ? mono + real_ms * speed
    : mono + fast_ms * speed + (real_ms - fast_ms) * Math.min(1, speed);
}

type Record = ReturnType<typeof openRecord>;

/** Opens the file with the present stretch. The simulated site creates the file and sets the speed. */
function openRecord(path: string, first: Stretch) {
  const file = openSync(path, "r+");
  const bytes = Buffer.alloc(RECORD_BYTES);
  let last = first;
  let number = 0;
  return {
    read(): Stretch {
      readSync(file, bytes, 0, RECORD_BYTES, 0);
      const found = bytes.readUInt32LE(0);
      if (found === number || found !== bytes.readUInt32LE(36)) return last;
      number = found;
      return (last = {
        mono: bytes.readDoubleLE(4),
        at_ns: bytes.readBigInt64LE(12),
        speed: bytes.readDoubleLE(20),
        limit: bytes.readDoubleLE(28),
      });
    },
    write(next: Stretch): void {
      last = next;
      number = (number + 1) % 2 ** 32;
      bytes.writeUInt32LE(number, 0);
      bytes.writeDoubleLE(next.mono, 4);
      bytes.writeBigInt64LE(next.at_ns, 12);
      bytes.writeDoubleLE(next.speed, 20);
      bytes.writeDoubleLE(next.limit, 28);
      bytes.writeUInt32LE(number, 36);
      writeSync(file, bytes, 0, RECORD_BYTES, 0);
    },
  };
}

function pacedBy(record: Record, stretch_ms: number, driver: Driver): Driver {
  const go = (for_ms: number): void => {
    const stretch = record.read();
    const at_ns = process.hrtime.bigint();
    const mono = monoAt(stretch, at_ns);
    record.write({ mono, at_ns, speed: stretch.speed, limit: mono + for_ms });
  };
  return {
    ...driver,
    read: async (groups) => {
      go(0);
      const read = await driver.read(groups);
      // Lets the clock resume later, because the caller first takes the time of the read. After a failed read, the site lets the time
      // continue.
      setImmediate(go, stretch_ms);
      return read;
    },
  };
}
