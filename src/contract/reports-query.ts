import { dayStart } from "../domain/time-zone.ts";
import type { Mode } from "../domain/booth.ts";
import type { EpochMs, Milliseconds } from "../domain/units.ts";
import { modeNamed } from "../domain/wire-names.ts";
import { parseTime } from "./time.ts";

/** Query parameters as they came; the first of a repeated one counts. */
export type Query = Readonly<Record<string, string>>;

/** A query that can't be answered: 400 with this sentence. */
export class QueryError extends Error {}

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 1_000;
const MAX_TAGS = 200;
const DAY_MS: Milliseconds = 86_400_000;
/** Longer than any booth has been watched; the calendar of each day is gone through. */
const MAX_WINDOW_DAYS = 5_000;

/** Zone of local days, and now. */
interface QueryClock {
  readonly tz: string;
  readonly now: EpochMs;
}

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
export function windowParams(query: Query, clock: QueryClock): Span {
  const now = wholeSecond(clock.now);
  const start = timeParam(query, "start") ?? dayStart(clock.tz, now);
  const end = timeParam(query, "end") ?? now;
  if (end < start) throw new QueryError("end lies before start");
  bounded({ start, end });
  return { start: Math.min(start, now), end: Math.min(end, now) };
}

function wholeSecond(now: EpochMs): EpochMs {
  return Math.floor(now / 1000) * 1000;
}

function bounded(window: Span): Span {
  if (window.end - window.start <= MAX_WINDOW_DAYS * DAY_MS) return window;
  throw new QueryError(`too many days from start to end: at most ${MAX_WINDOW_DAYS.toString()}`);
}

/** `start` and `end`, clipped to now; default: ever. */
export function openWindowParams(query: Query, now: EpochMs): Span {
  const start = Math.min(timeParam(query, "start") ?? 0, now);
  const end = Math.min(timeParam(query, "end") ?? now, now);
  if (end < start) throw new QueryError("end lies before start");
  return { start, end };
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

/** `states`: modes by their names as they are shown, comma-separated; undefined: not asked for. */
export function statesParam(query: Query): Mode[] | undefined {
  const names = (query["states"] ?? "").split(",").filter((name) => name !== "");
  if (names.length === 0) return undefined;
  return names.map((name) => {
    const mode = modeNamed(name);
    if (mode === undefined) throw new QueryError("states names no mode that is known");
    return mode;
  });
}

/** `interval`: whole minutes, default an hour. */
export function intervalParam(query: Query): Milliseconds {
  const text = query["interval"] || "60";
  if (!/^\d{1,6}$/.test(text) || Number(text) < 1) throw new QueryError("interval is not a number of minutes");
  return Number(text) * MINUTE_MS;
}

const MINUTE_MS: Milliseconds = 60_000;
const HOUR_MS: Milliseconds = 60 * MINUTE_MS;
const PERIOD_MS = { hour: HOUR_MS, day: DAY_MS, week: 7 * DAY_MS, month: 30 * DAY_MS } as const;
const MAX_LENGTH = 1_000;

export type PeriodUnit = keyof typeof PERIOD_MS;

/** `unit`: hour, day, week, month, also as plural; undefined where it isn't given. */
export function unitParam(query: Query): PeriodUnit | undefined {
  const unit = query["unit"]?.replace(/s$/, "");
  if (unit === undefined || unit === "") return undefined;
  if (!Object.hasOwn(PERIOD_MS, unit)) throw new QueryError("unit is none of hour, day, week, month");
  return unit as PeriodUnit;
}

function lengthParam(query: Query): number | undefined {
  const text = query["length"] ?? "";
  if (text === "") return undefined;
  const length = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (length < 1 || length > MAX_LENGTH) throw new QueryError("length is not a number from 1 to 1000");
  return length;
}

/** `start` and `end`; or the last `length` `unit`s up to now, whichever is given; default: the local day so far. */
export function periodParams(query: Query, clock: QueryClock): Span {
  const [unit, length] = [unitParam(query), lengthParam(query)];
  return periodOr(unit ?? length, { unit, length }, { query, clock });
}

/** The same of a series, whose `unit` alone says how it is cut. */
export function seriesParams(query: Query, clock: QueryClock): { readonly window: Span; readonly unit: PeriodUnit } {
  const [unit, length] = [unitParam(query) ?? "day", lengthParam(query)];
  return { window: periodOr(length, { unit, length }, { query, clock }), unit };
}

function periodOr(
  given: unknown,
  { unit = "day", length = 1 }: { readonly unit?: PeriodUnit | undefined; readonly length?: number | undefined },
  { query, clock }: { readonly query: Query; readonly clock: QueryClock },
): Span {
  const window = windowParams(query, clock);
  if (given === undefined || timeParam(query, "start") !== undefined) return window;
  const end = wholeSecond(clock.now);
  // A month counts 30 days.
  return bounded({ start: end - PERIOD_MS[unit] * length, end });
}
