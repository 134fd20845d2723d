import { type Mode, modeNamed } from "../domain/booth.ts";
import { dayStart } from "../domain/time-zone.ts";
import type { EpochMs, Milliseconds } from "../domain/units.ts";
import { parseTime } from "./time.ts";
import { MINUTE_MS, HOUR_MS, DAY_MS } from "../domain/time.ts";

/** Query parameters. If a parameter is repeated, its first value counts. */
export type Query = Readonly<Record<string, string>>;

/** The error for a query that cannot be answered, sent as status 400 with this message. */
export class QueryError extends Error {}

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 1_000;
const MAX_TAGS = 200;
/** The maximum number of days in a window, because reports compute the calendar of each day. */
const MAX_WINDOW_DAYS = 5_000;

/** The time zone of local days, and the present time. */
interface QueryClock {
  readonly tz: string;
  readonly now: EpochMs;
}

export interface Span {
  readonly start: EpochMs;
  readonly end: EpochMs;
}

export function timeParam(query: Query, name: string): EpochMs | undefined {
  const text = query[name];
  if (!text) return undefined;
  const time = parseTime(text);
  if (time === null) throw new QueryError(`${name} is not a timestamp`);
  return time;
}

/**
 * Reads `start` and `end`. Limits them to now and to whole seconds, because answers have no fractions. Default: the local day of `tz` so
 * far.
 */
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
  throw new QueryError(`too many days from start to end: at most ${MAX_WINDOW_DAYS}`);
}

/** Reads `start` and `end`, limited to now. Default: all time. */
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

/** Reads `page`, which starts at 1, and `limit`. A limit of -1 means all items, if the list allows it. */
export function pagingParams(query: Query, { allowAll }: { readonly allowAll: boolean }): Paging {
  const page = integerParam(query, "page") ?? 1;
  const limit = integerParam(query, "limit") ?? DEFAULT_LIMIT;
  if (page < 1) throw new QueryError("page is not a positive number");
  if (limit === -1 ? !allowAll : limit < 1) throw new QueryError("limit is not a positive number");
  return { page, limit: Math.min(limit, MAX_LIMIT) };
}

function integerParam(query: Query, name: string): number | undefined {
  const text = query[name];
  if (!text) return undefined;
  if (!/^-?\d{1,9}$/.test(text)) throw new QueryError(`${name} is not a whole number`);
  return Number(text);
}

/** Reads `tags`: names separated by commas. Removes duplicates. */
export function tagsParam(query: Query, { needed }: { readonly needed: boolean }): string[] {
  const tags = [...new Set((query["tags"] ?? "").split(",").filter((tag) => tag !== "" && tag !== "__proto__"))];
  if (needed && tags.length === 0) throw new QueryError("tags is missing");
  if (tags.length > MAX_TAGS) throw new QueryError(`tags names over ${MAX_TAGS} tags`);
  return tags;
}

/** The maximum number of lines in a chart. */
const MAX_LINES = 12;

/** Reads the query of a line chart: `tags`, and `interval` as the length of the chart's steps. */
export function trendParams(query: Query): { readonly tags: string[]; readonly step_ms: Milliseconds } {
  const tags = tagsParam(query, { needed: true });
  if (tags.length > MAX_LINES) throw new QueryError(`tags names over ${MAX_LINES} tags`);
  return { tags, step_ms: intervalParam(query) };
}

/** Reads `states`: display names of modes, separated by commas; undefined if absent. */
export function statesParam(query: Query): Mode[] | undefined {
  const names = (query["states"] ?? "").split(",").filter((name) => name !== "");
  if (names.length === 0) return undefined;
  return names.map((name) => {
    const mode = modeNamed(name);
    if (mode === undefined) throw new QueryError("states names no mode that is known");
    return mode;
  });
}

/** Reads `interval` in whole minutes. Default: an hour. */
export function intervalParam(query: Query): Milliseconds {
  const text = query["interval"] || "60";
  if (!/^\d{1,6}$/.test(text) || Number(text) < 1) throw new QueryError("interval is not a number of minutes");
  return Number(text) * MINUTE_MS;
}
const PERIOD_MS = { hour: HOUR_MS, day: DAY_MS, week: 7 * DAY_MS, month: 30 * DAY_MS } as const;
const MAX_LENGTH = 1_000;

type PeriodUnit = keyof typeof PERIOD_MS;

/** Reads `unit`: hour, day, week or month, singular or plural; undefined if absent. */
function unitParam(query: Query): PeriodUnit | undefined {
  const unit = query["unit"]?.replace(/s$/, "");
  if (!unit) return undefined;
  if (!Object.hasOwn(PERIOD_MS, unit)) throw new QueryError("unit is none of hour, day, week, month");
  return unit as PeriodUnit;
}

function lengthParam(query: Query): number | undefined {
  const text = query["length"];
  if (!text) return undefined;
  const length = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (length < 1 || length > MAX_LENGTH) throw new QueryError("length is not a number from 1 to 1000");
  return length;
}

/** Reads the window: `start` and `end`, or the last `length` of `unit` up to now. Default: the local day so far. */
export function periodParams(query: Query, clock: QueryClock): Span {
  const unit = unitParam(query);
  const length = lengthParam(query);
  return unit === undefined && length === undefined
    ? windowParams(query, clock)
    : lastPeriod(PERIOD_MS[unit ?? "day"] * (length ?? 1), query, clock);
}

/** Reads the window of a series like `periodParams`, and the length of its buckets from `unit`. */
export function seriesParams(query: Query, clock: QueryClock): { readonly window: Span; readonly unit: PeriodUnit } {
  const unit = unitParam(query) ?? "day";
  const length = lengthParam(query);
  const window = length === undefined ? windowParams(query, clock) : lastPeriod(PERIOD_MS[unit] * length, query, clock);
  return { window, unit };
}

/** Returns the window of the last `ms` up to now, unless `start` is given. A month counts 30 days. */
function lastPeriod(ms: Milliseconds, query: Query, clock: QueryClock): Span {
  const window = windowParams(query, clock);
  if (timeParam(query, "start") !== undefined) return window;
  const end = wholeSecond(clock.now);
  return bounded({ start: end - ms, end });
}

type Item = Readonly<Record<string, unknown>>;
type Test = (item: Item) => boolean;
type Order = (a: Item, b: Item) => number;

const MAX_CRITERIA = 20;
/** Operators that compare two values. Each gets the sign of the comparison. */
const BY_ORDER: Readonly<Record<string, (order: number) => boolean>> = {
  eq: (order) => order === 0,
  ne: (order) => order !== 0,
  lt: (order) => order < 0,
  le: (order) => order <= 0,
  gt: (order) => order > 0,
  ge: (order) => order >= 0,
};
/** The operators that never match null. */
const NEVER_NULL = new Set(["lt", "le", "gt", "ge"]);

/**
 * Filters items by `filter=field:op:value,...` and sorts them by `sort=-a,b`, like the service. The operators are eq ne lt le gt ge like
 * in; values of `in` are separated by |. Throws a QueryError for any other operator, or for a field that is not in `fields`.
 */
export function selected<T extends Item>(items: readonly T[], query: Query, fields: readonly string[]): T[] {
  const tests = criteria(query["filter"]).map((text) => testOf(text, fields));
  const orders = criteria(query["sort"]).map((text) => orderOf(text, fields));
  return items
    .filter((item) => tests.every((test) => test(item)))
    .sort((a, b) => orders.reduce((found, order) => (found === 0 ? order(a, b) : found), 0));
}

function criteria(text = ""): string[] {
  const parts = text.split(",").filter((part) => part !== "");
  if (parts.length > MAX_CRITERIA) throw new QueryError(`more than ${MAX_CRITERIA} criteria`);
  return parts;
}

function testOf(text: string, fields: readonly string[]): Test {
  const [field = "", op = "", ...rest] = text.split(":");
  const value = rest.join(":");
  if (!fields.includes(field)) throw new QueryError(`filter: no field ${field}`);
  if (rest.length === 0) throw new QueryError("filter is not field:op:value");
  const byOrder = Object.hasOwn(BY_ORDER, op) ? BY_ORDER[op] : undefined;
  if (byOrder !== undefined) {
    return ({ [field]: found }) => (!NEVER_NULL.has(op) || found !== null) && byOrder(compare(found, value));
  }
  if (op === "in") return ({ [field]: found }) => value.split("|").some((one) => compare(found, one) === 0);
  if (op !== "like") throw new QueryError("filter is not field:op:value");
  const part = value.replaceAll("%", "").toUpperCase();
  return ({ [field]: found }) => textOf(found).toUpperCase().includes(part);
}

function orderOf(text: string, fields: readonly string[]): Order {
  const [sign, field] = text.startsWith("-") ? [-1, text.slice(1)] : [1, text];
  if (!fields.includes(field)) throw new QueryError(`sort: no field ${field}`);
  return ({ [field]: a }, { [field]: b }) =>
    sign * (typeof a === "number" && typeof b === "number" ? a - b : orderOfTexts(textOf(a), textOf(b)));
}

/** Compares numbers by value, times as instants in any spelling, and everything else as text. */
function compare(found: unknown, value: string): number {
  if (typeof found === "number" && value.trim() !== "" && Number.isFinite(Number(value))) return found - Number(value);
  const a = parseTime(textOf(found));
  const b = parseTime(value);
  return a !== null && b !== null ? a - b : orderOfTexts(textOf(found), value);
}

/** Compares texts by code units, so that the order does not depend on the locale. */
export function orderOfTexts(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return value === null || value === undefined ? "" : JSON.stringify(value);
}
