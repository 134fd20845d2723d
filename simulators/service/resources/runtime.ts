import { runtimeMs } from "../figures/summary.ts";
import { badRequest } from "../http/errors.ts";
import { ok } from "../http/operation.ts";
import type { Answer, Call, Operation } from "../http/operation.ts";
import { timeParam, windowParams } from "../http/query.ts";
import type { Span } from "../figures/span.ts";
import { boothOf, calendarOf, figuresOf } from "./common.ts";

const DAY_MS = 86_400_000;
const UNITS: Readonly<Record<string, number>> = { hour: 3_600_000, day: DAY_MS, week: 7 * DAY_MS, month: 30 * DAY_MS };
const MAX_LENGTH = 1000;

/** GET /api/booths/{id}/runtime: time in the runtime set in a period, in the one before it, and the difference. */
export const runtime: readonly Operation[] = [{ method: "GET", path: "/api/booths/:id/runtime", handle: answer }];

function answer(call: Call): Answer {
  const booth = boothOf(call);
  const current = periodOf(call, calendarOf(call, booth).tz);
  const previous = { start: current.start - (current.end - current.start), end: current.start };
  const figures = figuresOf(call, booth);
  const [now, before] = [runtimeMs(figures, current), runtimeMs(figures, previous)];
  return ok({ current_period: interval(now), previous_period: interval(before), delta: interval(now - before) });
}

/** `start` and `end`; or the last `length` `unit`s up to now; default the local day so far. */
export function periodOf(call: Call, tz: string): Span {
  const unit = call.query["unit"];
  if (unit === undefined || timeParam(call.query, "start") !== undefined)
    return windowParams(call.query, { tz, now: call.now });
  const name = unit.replace(/s$/, "");
  const each = Object.hasOwn(UNITS, name) ? UNITS[name] : undefined;
  const length = Number(call.query["length"] ?? "1");
  if (each === undefined) throw badRequest("unit is none of hour, day, week, month");
  if (!Number.isInteger(length) || length < 1 || length > MAX_LENGTH)
    throw badRequest("length is not a number from 1 to 1000");
  const end = Math.floor(call.now / 1000) * 1000;
  return { start: end - each * length, end };
}

/** A length of time in days, seconds and microseconds, all of one sign; months are never used. */
function interval(ms: number): Record<string, number> {
  const days = Math.trunc(ms / DAY_MS);
  const rest = ms - days * DAY_MS;
  const secs = Math.trunc(rest / 1000);
  return { months: 0, days: days + 0, secs: secs + 0, microsecs: Math.round((rest - secs * 1000) * 1000) + 0 };
}
