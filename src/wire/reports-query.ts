import { dayStart } from "../core/time-zone.ts";
import type { EpochMs, Milliseconds } from "../core/types/units.ts";
import { parseTime } from "./time.ts";

/** Query parameters as they came; the last of a repeated one counts. */
export type Query = Readonly<Record<string, string>>;

/** A query that can't be answered: 400 with this sentence. */
export class QueryError extends Error {}

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 1_000;
const MAX_TAGS = 200;

interface Span {
  readonly start: EpochMs;
  readonly end: EpochMs;
}

export function timeParam(query: Query, name: string): EpochMs | undefined {
  const text = query[name];
  if (text === undefined || text === "") return undefined;
  const time = parseTime(text);
  if (time === null) throw new QueryError(`${name} is not a timestamp`);
  return time;
}

/** `start` and `end`, clipped to now, to the second that answers can spell; default: the local day of `tz` so far. */
export function windowParams(query: Query, clock: { readonly tz: string; readonly now: EpochMs }): Span {
  const now = Math.floor(clock.now / 1000) * 1000;
  const start = timeParam(query, "start") ?? dayStart(clock.tz, now);
  const end = timeParam(query, "end") ?? now;
  if (end < start) throw new QueryError("end lies before start");
  return { start: Math.min(start, now), end: Math.min(end, now) };
}

/** `start` and `end` as they are; default: ever. */
export function openWindowParams(query: Query, now: EpochMs): Span {
  const start = timeParam(query, "start") ?? 0;
  const end = timeParam(query, "end") ?? now;
  if (end < start) throw new QueryError("end lies before start");
  return { start: Math.min(start, now), end: Math.min(end, now) };
}

export interface Paging {
  readonly page: number;
  readonly limit: number;
}

/** `page` from 1 and `limit`; -1 = all, where the list allows it. */
export function pagingParams(query: Query, { allowAll }: { readonly allowAll: boolean }): Paging {
  const page = integerParam(query, "page") ?? 1;
  const limit = integerParam(query, "limit") ?? DEFAULT_LIMIT;
  if (page < 1) throw new QueryError("page is not a positive number");
  if (limit === -1 ? !allowAll : limit < 1) throw new QueryError("limit is not a positive number");
  return { page, limit: Math.min(limit, MAX_LIMIT) };
}

export function integerParam(query: Query, name: string): number | undefined {
  const text = query[name];
  if (text === undefined || text === "") return undefined;
  if (!/^-?\d{1,9}$/.test(text)) throw new QueryError(`${name} is not a whole number`);
  return Number(text);
}

/** `tags`, comma-separated; each once. */
export function tagsParam(query: Query, { needed }: { readonly needed: boolean }): string[] {
  const tags = [...new Set((query["tags"] ?? "").split(",").filter((tag) => tag !== "" && tag !== "__proto__"))];
  if (needed && tags.length === 0) throw new QueryError("tags is missing");
  if (tags.length > MAX_TAGS) throw new QueryError(`tags names over ${MAX_TAGS.toString()} tags`);
  return tags;
}

const HOUR_MS: Milliseconds = 3_600_000;
const PERIOD_MS = { hour: HOUR_MS, day: 24 * HOUR_MS, week: 168 * HOUR_MS, month: 720 * HOUR_MS } as const;
const MAX_LENGTH = 1_000;

export type PeriodUnit = keyof typeof PERIOD_MS;

/** `unit`: hour, day, week, month, also as plural; undefined where it isn't given. */
export function unitParam(query: Query): PeriodUnit | undefined {
  const unit = query["unit"]?.replace(/s$/, "");
  if (unit === undefined || unit === "") return undefined;
  if (!Object.hasOwn(PERIOD_MS, unit)) throw new QueryError("unit is none of hour, day, week, month");
  return unit as PeriodUnit;
}

/** `start` and `end`; or the last `length` `unit`s up to now (a month counts 30 days); default: the local day so far. */
export function periodParams(query: Query, clock: { readonly tz: string; readonly now: EpochMs }): Span {
  const unit = unitParam(query);
  if (unit === undefined || timeParam(query, "start") !== undefined) return windowParams(query, clock);
  const length = integerParam(query, "length") ?? 1;
  if (length < 1 || length > MAX_LENGTH) throw new QueryError("length is not a number from 1 to 1000");
  return { start: clock.now - PERIOD_MS[unit] * length, end: clock.now };
}
