import type { LogState } from "../../domain/booth-state.ts";
import type { Thrift } from "../../domain/traffic.ts";
import { zoneOffsetMs } from "../../domain/time-zone.ts";
import type { EpochMs, Milliseconds, Seq } from "../../domain/units.ts";
import { HOUR_MS } from "../../domain/time.ts";

/** What of a log waits to spare the month's budget of data. Nothing does for long where the store fills up. */

/** The readings that were let go last: all up to that seq, at a change of mode or since others had waited long enough. */
export interface LetGo {
  readonly mode: string;
  readonly mono: Milliseconds;
  readonly up_to: Seq;
}

export interface Held {
  readonly live: boolean;
  readonly backlog: boolean;
  /** Until it may be otherwise; null: nothing is held. */
  readonly ms: Milliseconds | null;
}

export const NOTHING_HELD: Held = { live: false, backlog: false, ms: null };
const DAY_HOURS = 24;
/** Nobody works, and mobile networks are empty. */
const NIGHT = { from_h: 22, to_h: 5 };
/** Whether it is night is looked at so often. */
const LOOK_MS: Milliseconds = 600_000;
/** From here on what waits goes whatever it costs: records are worth more than a budget. */
const FULL_SOON_H = 48;

interface LogNow {
  readonly mode: string;
  readonly mono: Milliseconds;
  /** Corrected time, and the booth's zone. */
  readonly at: EpochMs;
  readonly tz: string;
  readonly sendable_seq: Seq;
  /** Sent last in the live lane. */
  readonly live_seq: Seq;
  readonly hours_to_full: number | null;
}

/** Of a booth's log, what bears on it. */
export function logNow(log: LogState): Pick<LogNow, "mode" | "at" | "tz" | "hours_to_full"> {
  const { summary, storage } = log;
  const tz = log.parameters()?.tz ?? "UTC";
  return { mode: summary?.mode ?? "", at: log.now(), tz, hours_to_full: storage?.hours_to_full ?? null };
}

/** What was let go last, as it is now: a change of mode takes with it all that waited, and so does the first of readings that waited long enough. */
export function letGo(before: LetGo | null, now: LogNow, { hold_ms }: Pick<Thrift, "hold_ms">): LetGo {
  const { mode, mono, sendable_seq } = now;
  const isDue = before === null || before.mode !== mode || mono - before.mono >= hold_ms;
  return isDue ? { mode, mono, up_to: sendable_seq } : before;
}

export function heldOf(gone: LetGo, now: LogNow, { hold_ms, by_night }: Thrift): Held {
  const isFullSoon = now.hours_to_full !== null && now.hours_to_full < FULL_SOON_H;
  if (isFullSoon) return NOTHING_HELD;
  const live = hold_ms > 0 && now.live_seq >= gone.up_to;
  const backlog = by_night && !isNight(now.tz, now.at);
  const left = Math.max(1, gone.mono + hold_ms - now.mono);
  return { live, backlog, ms: live ? Math.min(left, LOOK_MS) : backlog ? LOOK_MS : null };
}

export function isNight(tz: string, at: EpochMs): boolean {
  const hour = Math.floor((at + zoneOffsetMs(tz, at)) / HOUR_MS) % DAY_HOURS;
  return hour >= NIGHT.from_h || hour < NIGHT.to_h;
}
