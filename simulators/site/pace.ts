import { readSync, openSync, closeSync, writeSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { ClockOrigin, SimClock } from "../clock.ts";
import type { Screen } from "./screen.ts";
import { isOver } from "../../src/domain/signal.ts";
import { pause } from "./waiting.ts";

/**
 * The site's clock, which waits for the agent's polls. At high speed a poll that is late by real milliseconds would
 * be late by seconds of the booth's time, which makes gaps and runaway counters that no real booth has. So the agent
 * holds the clock while it reads, and lets it run for a stretch afterwards. While it is held, and after the stretch,
 * time passes as slowly as in reality. Both write the same small file: the agent at each poll, the site when it
 * changes the speed.
 */
export interface SitePace extends SimClock {
  speed(): number;
  /** From now on. */
  setSpeed(speed: number): void;
  /** Speed of time since the last call; null: unknown, because polls were missing for a part of it. */
  measured(): number | null;
  close(): void;
}

/** As in the agent's own clock: from `mono` at `at_ns` on, at `speed`; beyond `limit` no faster than real time. */
interface Stretch {
  readonly mono: number;
  readonly at_ns: bigint;
  readonly speed: number;
  readonly limit: number;
}

/**
 * Poll intervals that may pass before the clock waits for the next poll: fewer than the three that a fold takes for a
 * gap.
 */
const STRETCH_OF_INTERVAL = 1.5;
/** Real ms after which polling counts as stopped: the booth's cable or power is out, or the agent has ended. */
const PATIENCE_MS = 3_000;
/** The agent's start on a busy machine. */
const FIRST_PATIENCE_MS = 60_000;
const LOOK_MS = 100;
/** Longest single timer, so that a change of speed is felt. */
const MAX_TIMER_MS = 100;
const NS_PER_MS = 1_000_000;
/** Little-endian: number, mono (f64), at_ns (i64), speed (f64), limit (f64), number again. */
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
    // The agent writes at each poll: the last record's age is that of the last poll.
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

/** The file that site and agent share. */
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
      // Half written: the one before holds until the next look.
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
    /** The agent has written since we did. */
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

/** How long the clock is watched before its speed is judged. */
const PACE_EVERY_MS = 4_000;
/** Measured share of the speed below which the machine is too slow. */
const TOO_SLOW = 0.7;
/** It makes more than this: it could do more. */
const WITH_EASE = 0.9;
const FASTER = 1.3;
/** Number of good measurements before a higher speed is tried. */
const GOOD_LOOKS = 4;

export interface Keeping {
  readonly clock: SitePace;
  readonly screen: Screen;
  /** The speed that the user asked for. */
  readonly wished: number;
  /** At that speed. */
  readonly poll_interval_ms: number;
}

/** Lowers the speed to what the machine can do, and says so; raises it again where there is room. */
export async function keepPace(
  { clock, screen, wished, poll_interval_ms }: Keeping,
  signal: AbortSignal,
): Promise<void> {
  let good = 0;
  // Until now programs started: that says nothing of how they run.
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
