import type { LogState } from "../../domain/booth-state.ts";
import type { Thrift } from "../../domain/traffic.ts";
import { zoneOffsetMs } from "../../domain/time-zone.ts";
import type { EpochMs, Milliseconds, Seq } from "../../domain/units.ts";
import { HOUR_MS } from "../../domain/time.ts";

/** Rules that decide which records wait to save the month's data budget. If the store fills up, no record waits. */

/** The last release of waiting readings, at a change of mode or after the waiting time. All readings up to `up_to` may be sent. */
export interface Release {
  readonly mode: string;
  readonly mono: Milliseconds;
  readonly up_to: Seq;
}

/** The lanes (send queues) that must wait. */
export interface Held {
  readonly live: boolean;
  readonly backlog: boolean;
  /** Time until this decision may change; null: nothing waits. */
  readonly ms: Milliseconds | null;
}

export const NOTHING_HELD: Held = { live: false, backlog: false, ms: null };
const DAY_HOURS = 24;
/** Night hours, in which booths are idle and mobile networks have capacity. */
const NIGHT = { from_h: 22, to_h: 5 };
/** Interval of the check whether it is night. */
const NIGHT_CHECK_MS: Milliseconds = 600_000;
/** If the store will be full within this time, everything is sent, because records matter more than the budget. */
const FULL_SOON_H = 48;

interface LogNow {
  readonly mode: string;
  readonly mono: Milliseconds;
  /** Wall-clock time, corrected by the service's clock. */
  readonly at: EpochMs;
  readonly tz: string;
  readonly sendable_seq: Seq;
  /** The newest record sent in the live lane. */
  readonly live_seq: Seq;
  readonly hours_to_full: number | null;
}

/** Returns the inputs of the decision that come from a booth's log. */
export function logNow(log: LogState): Pick<LogNow, "mode" | "at" | "tz" | "hours_to_full"> {
  const { summary, storage } = log;
  const tz = log.parameters()?.tz ?? "UTC";
  return { mode: summary?.mode ?? "", at: log.now(), tz, hours_to_full: storage?.hours_to_full ?? null };
}

/** Returns the present release. A change of mode, or the end of the waiting time, releases all readings that wait. */
export function releaseAfter(before: Release | null, now: LogNow, { hold_ms }: Pick<Thrift, "hold_ms">): Release {
  const { mode, mono, sendable_seq } = now;
  const isDue = before === null || before.mode !== mode || mono - before.mono >= hold_ms;
  return isDue ? { mode, mono, up_to: sendable_seq } : before;
}

export function heldOf(released: Release, now: LogNow, { hold_ms, by_night }: Thrift): Held {
  const isFullSoon = now.hours_to_full !== null && now.hours_to_full < FULL_SOON_H;
  if (isFullSoon) return NOTHING_HELD;
  const live = hold_ms > 0 && now.live_seq >= released.up_to;
  const backlog = by_night && !isNight(now.tz, now.at);
  const left = Math.max(1, released.mono + hold_ms - now.mono);
  return { live, backlog, ms: live ? Math.min(left, NIGHT_CHECK_MS) : backlog ? NIGHT_CHECK_MS : null };
}

export function isNight(tz: string, at: EpochMs): boolean {
  const hour = Math.floor((at + zoneOffsetMs(tz, at)) / HOUR_MS) % DAY_HOURS;
  return hour >= NIGHT.from_h || hour < NIGHT.to_h;
}
