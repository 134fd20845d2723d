import { readSync, openSync, closeSync, writeSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { ClockOrigin, SimClock } from "../clock.ts";
import type { Screen } from "./screen.ts";
import { isOver } from "../../src/domain/signal.ts";
import { pause } from "./waiting.ts";

/**
 * The site's clock, which waits for the agent's polls. At high speed, a poll that is late by real milliseconds would be
 * late by seconds of the booth's time, which causes gaps and runaway counters that no real booth has. So the agent
 * stops the clock during a poll and lets it run for a while afterwards. While it is stopped, and after that while, time
 * passes at real speed. Agent and site write the same small file: the agent at each poll, the site when it changes the
 * speed.
 */
export interface SitePace extends SimClock {
  speed(): number;
  /** Changes the speed from now on. */
  setSpeed(speed: number): void;
  /** Returns the speed since the last call; null: unknown, because polls were missing for a part of the time. */
  measured(): number | null;
  close(): void;
}

/**
 * The same as in the agent's clock: time runs from `mono` at `at_ns` on at `speed`, and beyond `limit` at most at real
 * speed.
 */
interface Stretch {
  readonly mono: number;
  readonly at_ns: bigint;
  readonly speed: number;
  readonly limit: number;
}

/**
 * Number of poll intervals after which the clock waits for the next poll: fewer than the three that the fold treats as
 * a gap.
 */
const STRETCH_OF_INTERVAL = 1.5;
/**
 * Real ms without a poll after which polling counts as stopped: the booth's cable or power is out, or the agent has
 * ended.
 */
const PATIENCE_MS = 3_000;
/** Time for the agent's start on a busy machine. */
const FIRST_PATIENCE_MS = 60_000;
const LOOK_MS = 100;
/** Longest single timer, so that a change of speed takes effect soon. */
const MAX_TIMER_MS = 100;
const NS_PER_MS = 1_000_000;
/** The record, little-endian: number, mono (f64), at_ns (i64), speed (f64), limit (f64), number again. */
const RECORD_BYTES = 40;

interface PaceOptions {
  readonly origin: ClockOrigin;
  readonly file: string;
}

/** Returns the pace's part of the clock file, in addition to `origin`. */
export function paceWords(file: string, poll_interval_ms: number): { file: string; stretch_ms: number } {
  return { file, stretch_ms: STRETCH_OF_INTERVAL * poll_interval_ms };
}

export function createPace({ origin, file }: PaceOptions): SitePace {
  let speed = origin.speed;
  const record = openRecord(file, { mono: 0, at_ns: origin.monotonic_origin_ns, speed, limit: 0 });
  const now = (): bigint => process.hrtime.bigint();
  const mono = (): number => monoAt(record.read(), now());
  let patience_ms = FIRST_PATIENCE_MS;
  let mark = { mono: mono(), at_ns: now(), unpolled: false };
  const look = (): void => {
    const stretch = record.read();
    const at_ns = now();
    // The agent writes at each poll, so the age of its last record is the time since the last poll.
    const silent_ms = Number(at_ns - stretch.at_ns) / NS_PER_MS;
    if (record.polled()) patience_ms = PATIENCE_MS;
    if (silent_ms > PATIENCE_MS / 3) mark = { ...mark, unpolled: true };
    const limit = silent_ms > patience_ms ? Infinity : stretch.limit;
    if (stretch.speed === speed && limit === stretch.limit) return;
    record.write({ mono: monoAt(stretch, at_ns), at_ns, speed, limit });
  };
  const looking = setInterval(look, LOOK_MS);
  looking.unref();
  return {
    boot: origin.boot,
    mono,
    wall: () => Math.floor(origin.wall_origin_ms + mono()),
    sleep: (ms, signal) => sleepUntil({ until: mono() + ms, mono, speed: () => speed }, signal),
    speed: () => speed,
    setSpeed(next) {
      speed = next;
      look();
    },
    measured() {
      const was = mark;
      mark = { mono: mono(), at_ns: now(), unpolled: false };
      return was.unpolled ? null : (mark.mono - was.mono) / (Number(mark.at_ns - was.at_ns) / NS_PER_MS);
    },
    close() {
      clearInterval(looking);
      record.close();
    },
  };
}

function monoAt({ mono, at_ns, speed, limit }: Stretch, now_ns: bigint): number {
  const real_ms = Number(now_ns - at_ns) / NS_PER_MS;
  const fast_ms = Math.max(0, limit - mono) / speed;
  return real_ms <= fast_ms
    ? mono + real_ms * speed
    : mono + fast_ms * speed + (real_ms - fast_ms) * Math.min(1, speed);
}

/** Opens the file that site and agent share. */
function openRecord(path: string, first: Stretch) {
  const bytes = Buffer.alloc(RECORD_BYTES);
  writeFileSync(path, bytes, { mode: 0o600 });
  const file = openSync(path, "r+");
  let number = 0;
  let last = first;
  let own = 0;
  const write = (next: Stretch): void => {
    last = next;
    own = number = (number + 1) % 2 ** 32;
    bytes.writeUInt32LE(number, 0);
    bytes.writeDoubleLE(next.mono, 4);
    bytes.writeBigInt64LE(next.at_ns, 12);
    bytes.writeDoubleLE(next.speed, 20);
    bytes.writeDoubleLE(next.limit, 28);
    bytes.writeUInt32LE(number, 36);
    writeSync(file, bytes, 0, RECORD_BYTES, 0);
  };
  write(first);
  return {
    write,
    read(): Stretch {
      readSync(file, bytes, 0, RECORD_BYTES, 0);
      const told = bytes.readUInt32LE(0);
      // The record is half-written, so the previous one applies until the next read.
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
    /** Whether the agent has written since the site's last write. */
    polled: () => number !== own,
    close: () => closeSync(file),
  };
}

interface Sleep {
  readonly until: number;
  readonly mono: () => number;
  readonly speed: () => number;
}

async function sleepUntil({ until, mono, speed }: Sleep, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  for (let left = until - mono(); left > 0; left = until - mono()) {
    await delay(Math.min(Math.ceil(left / speed()), MAX_TIMER_MS), undefined, signal ? { signal } : {}).catch(
      (error: unknown) => {
        signal?.throwIfAborted();
        throw error;
      },
    );
  }
}

/** Time over which the speed is measured. */
const PACE_EVERY_MS = 4_000;
/** Measured share of the speed below which the machine is too slow. */
const TOO_SLOW = 0.7;
/** Measured share of the speed above which the machine has a reserve. */
const WITH_EASE = 0.9;
const FASTER = 1.3;
/** Number of good measurements before a higher speed is tried. */
const GOOD_LOOKS = 4;

export interface Keeping {
  readonly clock: SitePace;
  readonly screen: Screen;
  /** The speed that the user requested. */
  readonly wished: number;
  /** The poll interval at that speed. */
  readonly poll_interval_ms: number;
}

/** Lowers the speed to what the machine can reach and reports it. Raises it again when the machine has a reserve. */
export async function keepPace(
  { clock, screen, wished, poll_interval_ms }: Keeping,
  signal: AbortSignal,
): Promise<void> {
  let good = 0;
  // Programs were starting until now, so this measurement is ignored.
  clock.measured();
  while (!isOver(signal)) {
    await pause(PACE_EVERY_MS, signal);
    if (isOver(signal)) return;
    const made = clock.measured();
    const speed = clock.speed();
    if (made === null) continue;
    good = made > WITH_EASE * speed ? good + 1 : 0;
    if (made < TOO_SLOW * speed && speed > 1) {
      const next = Math.max(1, Math.round(made));
      clock.setSpeed(next);
      const late_ms = Math.ceil(poll_interval_ms / made - poll_interval_ms / speed).toString();
      const text = `this machine can't keep up: polls come ${late_ms} ms late. Slower from now on: one second here is ${next} seconds there, not ${speed}`;
      screen.line(clock.wall(), "speed !", text);
    } else if (good >= GOOD_LOOKS && speed < wished) {
      good = 0;
      const next = Math.min(wished, Math.ceil(speed * FASTER));
      clock.setSpeed(next);
      screen.line(clock.wall(), "speed", `polls come in time: one second here is ${next} seconds there again`);
    }
  }
}
