import { openSync, readFileSync, readSync, writeSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Driver } from "../acquisition/port.ts";
import type { Clock } from "../domain/machine.ts";
import { sleepBy } from "../domain/signal.ts";
import { realAfter } from "./clock.ts";

/** What a site simulation writes for its processes, so that all of them live in one scaled time. */
interface ClockFile {
  readonly boot: string;
  /** Simulated ms per real ms. */
  readonly speed: number;
  /** CLOCK_MONOTONIC of the machine, ns, at which the simulated monotonic clock stood at 0. */
  readonly monotonic_origin_ns: string;
  /** Simulated wall clock at that instant. */
  readonly wall_origin_ms: number;
  /**
   * A clock that waits for polls: `file`, beside this one, says how the time goes just now; after a poll it may run for `stretch_ms`
   * before it waits for the next one. Absent: always at that speed.
   */
  readonly pace?: { readonly file: string; readonly stretch_ms: number };
}

export interface SimulatedClock extends Clock {
  /** The driver whose reads the clock waits for: what the PLC answers is of the instant at which it was asked. */
  readonly paced: (driver: Driver) => Driver;
}

/** From `mono` at `at_ns` on, at `speed`; beyond `limit` no faster than real time. */
interface Stretch {
  readonly mono: number;
  readonly at_ns: bigint;
  readonly speed: number;
  readonly limit: number;
}

/** A change of speed is felt after so long, ms. */
const LONGEST_UNSEEN_MS = 100;
/** Little-endian: number, mono (f64), at_ns (i64), speed (f64), limit (f64), the number again: they differ in a record half written. */
const RECORD_BYTES = 40;

/** Simulation only: one scaled clock for PLC, agent and service. Throws when the file isn't one. */
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

/** Timers of a time that may go on more slowly meanwhile. */
function afterBy(mono: () => number, speed: () => number): Clock["after"] {
  return (ms, act) => {
    const due = mono() + ms;
    let cancel = (): void => undefined;
    const wait = (left: number): void => {
      cancel = realAfter(Math.min(Math.ceil(left / speed()), LONGEST_UNSEEN_MS), look);
    };
    const look = (): void => {
      const left = due - mono();
      if (left <= 0) act();
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

/** The file that the site made, and may change as well: it alone sets the speed. */
function openRecord(path: string, first: Stretch) {
  const file = openSync(path, "r+");
  const bytes = Buffer.alloc(RECORD_BYTES);
  let last = first;
  let number = 0;
  return {
    /** Read anew each time: it may change between two polls. */
    read(): Stretch {
      readSync(file, bytes, 0, RECORD_BYTES, 0);
      const told = bytes.readUInt32LE(0);
      if (told === number || told !== bytes.readUInt32LE(36)) return last;
      number = told;
      const at_ns = bytes.readBigInt64LE(12);
      return (last = {
        mono: bytes.readDoubleLE(4),
        at_ns,
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
      // Whoever reads takes the time of what was read first. Where it fails nothing is known: the site lets the time go on.
      setImmediate(go, stretch_ms);
      return read;
    },
  };
}
