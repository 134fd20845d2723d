import { parseTime } from "../base/time.ts";
import { localDay } from "../base/zone.ts";
import type { Span } from "../base/span.ts";
import { badRequest } from "../base/errors.ts";
import { DAY_MS } from "../../../src/domain/time.ts";

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 1000;
/** Maximum length of a window, longer than any booth has been observed. Reports iterate over each day. */
const MAX_WINDOW_DAYS = 5000;

type Query = Readonly<Record<string, string>>;

export function timeParam(query: Query, name: string): number | undefined {
  const text = query[name];
  if (text === undefined || text === "") return undefined;
  const time = parseTime(text);
  if (time === undefined) throw badRequest(`${name} is not a timestamp`);
  return time;
}

/** Returns `start` and `end` limited to now, in whole seconds. Default: the local day of `tz` so far. */
export function windowParams(query: Query, clock: { tz: string; now: number }): Span {
  const { tz } = clock;
  const now = Math.floor(clock.now / 1000) * 1000;
  const start = timeParam(query, "start") ?? localDay(tz, now).start;
  const end = timeParam(query, "end") ?? now;
  if (end < start) throw badRequest("end lies before start");
  bounded({ start, end });
  return { start: Math.min(start, now), end: Math.min(end, now) };
}

/** Throws 400 if the window is too long. */
export function bounded(window: Span): Span {
  if (window.end - window.start <= MAX_WINDOW_DAYS * DAY_MS) return window;
  throw badRequest(`too many days from start to end: at most ${MAX_WINDOW_DAYS}`);
}

/** Returns `start` and `end` limited to now. Default: all time. */
export function openWindowParams(query: Query, now: number): Span {
  const start = Math.min(timeParam(query, "start") ?? 0, now);
  const end = Math.min(timeParam(query, "end") ?? now, now);
  if (end < start) throw badRequest("end lies before start");
  return { start, end };
}

export interface Paging {
  readonly page: number;
  readonly limit: number;
}

/** Returns `page` from 1 and `limit`; -1 = all, if the list allows it. */
export function pagingParams(query: Query, { allowAll }: { allowAll: boolean }): Paging {
  const page = integer(query, "page") ?? 1;
  const limit = integer(query, "limit") ?? DEFAULT_LIMIT;
  if (page < 1) throw badRequest("page is not a positive number");
  if (limit === -1 ? !allowAll : limit < 1) throw badRequest("limit is not a positive number");
  return { page, limit: Math.min(limit, MAX_LIMIT) };
}

function integer(query: Query, name: string): number | undefined {
  const text = query[name];
  if (text === undefined || text === "") return undefined;
  if (!/^-?\d{1,9}$/.test(text)) throw badRequest(`${name} is not a whole number`);
  return Number(text);
}

export interface Envelope<T> {
  readonly data: T;
  readonly page: number;
  readonly limit: number;
  readonly pages: number;
  readonly total: number;
}

export function envelope<T>(items: readonly T[], { page, limit }: Paging): Envelope<readonly T[]> {
  const total = items.length;
  if (limit === -1) return { data: items, page: 1, limit, pages: 1, total };
  return {
    data: items.slice((page - 1) * limit, page * limit),
    page,
    limit,
    pages: Math.max(1, Math.ceil(total / limit)),
    total,
  };
}
