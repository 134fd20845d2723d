import { PERIOD_MS, type PeriodUnit } from "../figures/buckets.ts";
import { runtimeMs } from "../figures/summary.ts";
import { badRequest } from "../base/errors.ts";
import { type Answer, type Call, ok, type Operation } from "../http/operation.ts";
import { bounded, timeParam, windowParams } from "../http/query.ts";
import type { Span } from "../base/span.ts";
import { boothOf, calendarOf, figuresOf } from "./common.ts";
import { DAY_MS } from "../../../src/domain/time.ts";

const MAX_LENGTH = 1000;

/** GET /api/booths/{id}/runtime: time in the runtime set in a period, in the one before it, and the difference. */
export const runtime: readonly Operation[] = [{ method: "GET", path: "/api/booths/:id/runtime", handle: answer }];

function answer(call: Call): Answer {
  const booth = boothOf(call);
  const current = periodOf(call, calendarOf(call, booth).tz);
  const previous = { start: current.start - (current.end - current.start), end: current.start };
  const figures = figuresOf(call, booth);
  const now = runtimeMs(figures, current);
  const before = runtimeMs(figures, previous);
  return ok({ current_period: interval(now), previous_period: interval(before), delta: interval(now - before) });
}

/**
 * Returns the period: by `unit` or `length`, or else the window of `start` and `end`, by default the local day so
 * far.
 */
function periodOf(call: Call, tz: string): Span {
  const unit = unitParam(call.query);
  const length = lengthParam(call.query);
  const window = windowParams(call.query, { tz, now: call.now });
  const isWindow = (unit ?? length) === undefined || timeParam(call.query, "start") !== undefined;
  return isWindow ? window : lastPeriod(call.now, unit ?? "day", length ?? 1);
}

/** `unit`: hour, day, week, month, also as plural; undefined where it isn't given. */
export function unitParam(query: Call["query"]): PeriodUnit | undefined {
  const unit = (query["unit"] ?? "").replace(/s$/, "");
  if (unit === "") return undefined;
  if (!Object.hasOwn(PERIOD_MS, unit)) throw badRequest("unit is none of hour, day, week, month");
  return unit as PeriodUnit;
}

/** `length`: how many units; undefined where it isn't given. */
export function lengthParam(query: Call["query"]): number | undefined {
  const text = query["length"] ?? "";
  if (text === "") return undefined;
  const length = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (length < 1 || length > MAX_LENGTH) throw badRequest("length is not a number from 1 to 1000");
  return length;
}

/** The last `length` units up to now, a month being 30 days. */
export function lastPeriod(now: number, unit: PeriodUnit, length: number): Span {
  const end = Math.floor(now / 1000) * 1000;
  return bounded({ start: end - PERIOD_MS[unit] * length, end });
}

/** A length of time in days, seconds and microseconds, all of one sign; months are never used. */
function interval(ms: number): Record<string, number> {
  const days = Math.trunc(ms / DAY_MS);
  const rest = ms - days * DAY_MS;
  const secs = Math.trunc(rest / 1000);
  return { months: 0, days: days + 0, secs: secs + 0, microsecs: Math.round((rest - secs * 1000) * 1000) + 0 };
}
