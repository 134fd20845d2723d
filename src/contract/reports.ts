import {
  FILTER_TYPES,
  type FilterType,
  type Mode,
  MODES_LISTED,
  type Quality,
  type TagValue,
  wireNameOf,
} from "../domain/booth.ts";
import type { IncidentFact, Maintenance, RevisionFact } from "../domain/record.ts";
import type { EpochMs, Milliseconds, Seq, StreamId, TagName } from "../domain/units.ts";
import type { Paging, Span } from "./reports-query.ts";
import { answerTime, minutesOf } from "./time.ts";
import { DAY_MS } from "../domain/time.ts";

type ByMode = Readonly<Partial<Record<Mode, number>>>;

/** One page of a collection. */
export function envelopeOf<T>(items: readonly T[], { page, limit }: Paging) {
  const total = items.length;
  if (limit === -1) return { data: items, page: 1, limit, pages: 1, total };
  const data = items.slice((page - 1) * limit, page * limit);
  return { data, page, limit, pages: pagesOf(total, limit), total };
}

function pagesOf(total: number, limit: number): number {
  return Math.max(1, Math.ceil(total / limit));
}

/** Rounded to what figures of energy and percentages are written with. */
function fourDecimals(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}

/** Days to 4 decimals. */
function daysOf(ms: Milliseconds): number {
  return fourDecimals(ms / DAY_MS);
}

function named<T>(by_mode: ByMode, shape: (mode: string, value: number) => T): T[] {
  return MODES_LISTED.flatMap((mode) => {
    const value = by_mode[mode] ?? 0;
    return value > 0 ? [shape(wireNameOf(mode), value)] : [];
  });
}

const inMinutes = (mode: string, ms: number) => ({ mode, duration: minutesOf(ms) });

export function durationBody(booth_id: string, window: Span, by_mode: ByMode) {
  return { ...headOf(booth_id, window), modes: named(by_mode, inMinutes) };
}

export function frequencyBody(booth_id: string, window: Span, by_mode: ByMode) {
  return { ...headOf(booth_id, window), modes: named(by_mode, (mode, count) => ({ mode, count })) };
}

function headOf(booth_id: string, { start, end }: Span) {
  return { booth_id, start: answerTime(start), end: answerTime(end) };
}

/** A length of time in days, seconds and microseconds, all of one sign; months are never used. */
export function intervalBody(ms: Milliseconds) {
  const days = Math.trunc(ms / DAY_MS);
  const rest = ms - days * DAY_MS;
  const secs = Math.trunc(rest / 1000);
  // Adding 0 turns a negative zero into a plain one.
  return { months: 0, days: days + 0, secs: secs + 0, microsecs: (rest - secs * 1000) * 1000 + 0 };
}

export function runtimeBody(periods: Readonly<Record<"current_ms" | "previous_ms" | "delta_ms", Milliseconds>>) {
  return {
    current_period: intervalBody(periods.current_ms),
    previous_period: intervalBody(periods.previous_ms),
    delta: intervalBody(periods.delta_ms),
  };
}

export function runtimeSeriesItem({ start, ms }: { readonly start: EpochMs; readonly ms: Milliseconds }) {
  return { time: answerTime(start), value: minutesOf(ms) };
}

export function utilizationBody(figures: {
  readonly in_use_ms: Milliseconds;
  readonly working_ms: Milliseconds;
  readonly utilization_pct: number | null;
  readonly overtime_ms: Milliseconds;
  readonly cycle_count: number;
  /** null: no meter; written as 0, as the service does. */
  readonly gas_therm: number | null;
  readonly energy_kwh: number | null;
  readonly approximate: boolean;
}) {
  const { utilization_pct } = figures;
  return {
    utilization_minutes: minutesOf(figures.in_use_ms),
    working_minutes: minutesOf(figures.working_ms),
    utilization_pct: utilization_pct === null ? null : fourDecimals(utilization_pct),
    overtime_minutes: minutesOf(figures.overtime_ms),
    cycle_count: figures.cycle_count,
    gas_usage: fourDecimals(figures.gas_therm ?? 0),
    kwh_usage: fourDecimals(figures.energy_kwh ?? 0),
    ...approximateField(figures),
  };
}

/** Marks an answer whose figures cut an hour that the log doesn't have any more. The service, which has it, never sends the field. */
export function approximateField({ approximate }: { readonly approximate: boolean }): { readonly approximate?: true } {
  return approximate ? { approximate: true } : {};
}

export function utilizationSummaryBody(figures: {
  readonly all_active_ms: Milliseconds;
  readonly in_use_ms: Milliseconds;
  readonly idle_ms: Milliseconds;
  readonly bake_ms: Milliseconds;
  readonly by_mode: ByMode;
}) {
  return {
    all_active_modes: minutesOf(figures.all_active_ms),
    in_use: minutesOf(figures.in_use_ms),
    idle: minutesOf(figures.idle_ms),
    bake: minutesOf(figures.bake_ms),
    modes: named(figures.by_mode, inMinutes),
  };
}

export function timelineItem({ start, end, by_mode }: Span & { readonly by_mode: ByMode }) {
  return { timestamp: answerTime(start), duration: minutesOf(end - start), modes: named(by_mode, inMinutes) };
}

export function stageItem({ mode, start, end }: Span & { readonly mode: Mode }) {
  return { mode: wireNameOf(mode), start_time: answerTime(start), end_time: answerTime(end) };
}

/** What a figure stands on, minutes; given beside the stated shape where it is asked for. */
export function coverageBody(coverage: Readonly<Record<"observed_ms" | "inferred_ms" | "missing_ms", Milliseconds>>) {
  return {
    observed: minutesOf(coverage.observed_ms),
    inferred: minutesOf(coverage.inferred_ms),
    missing: minutesOf(coverage.missing_ms),
  };
}

/** Shapes of values, revisions, filters and incidents: rows 30-33, 35, 41, 42, 67 of the table of operations. */

interface TagReading {
  readonly tag: TagName;
  readonly value: TagValue;
  readonly at: EpochMs;
}

type JudgedReading = TagReading & { readonly quality: Quality };

/** A page counts readings over all tags. `judged`: each with its quality, which the service's users don't ask for. */
export function historyBody(
  tags: readonly TagName[],
  { values, total }: { readonly values: readonly JudgedReading[]; readonly total: number },
  { page, limit, judged }: Paging & { readonly judged: boolean },
) {
  const data = Object.fromEntries(
    tags.map((tag) => [tag, [] as { value: TagValue; system_time: string; quality?: Quality }[]]),
  );
  for (const { tag, at, value, quality } of values) {
    data[tag]?.push({ value, system_time: answerTime(at), ...(judged ? { quality } : {}) });
  }
  return { data, page, limit, pages: pagesOf(total, limit), total };
}

/** Values as text. */
export function latestValuesBody(values: readonly TagReading[]) {
  const items = values.map(({ tag, at, value }) => {
    return [tag, { name: tag, system_time: answerTime(at), value: String(value) }] as const;
  });
  return { data: Object.fromEntries(items) };
}

export function revisionBody(firmware: readonly RevisionFact["value"][], programs: readonly RevisionFact["value"][]) {
  return {
    firmware_versions: firmware.map(({ firmware_version, first_seen_at }) => ({
      version: firmware_version,
      installed_at: answerTime(first_seen_at),
    })),
    // `version` is the program's revision; a profile without one shows the program's name.
    program_versions: programs.map(({ plc_program, plc_program_revision, first_seen_at }) => ({
      version: plc_program_revision ?? plc_program,
      plc_program,
      installed_at: answerTime(first_seen_at),
    })),
  };
}

interface FilterInterval {
  readonly type: FilterType;
  readonly installed_at: EpochMs;
  readonly removed_at: EpochMs | null;
  readonly overuse_ms: Milliseconds;
  /** Days. */
  readonly estimated_days: number | null;
  readonly nominal_days: number | null;
  readonly maintenance_days: number | null;
}

/** Days by filter type; a type without installations is absent. `all`: whatever the window, for the last one's date. */
export function filterMaintenancesItem(all: readonly FilterInterval[], window: Span, now: EpochMs) {
  const entries = FILTER_TYPES.flatMap((type) => {
    const mine = all.filter((one) => one.type === type);
    const last = mine.at(-1);
    if (last === undefined) return [];
    const shown = mine.filter(
      ({ installed_at, removed_at }) => installed_at <= window.end && (removed_at ?? Infinity) > window.start,
    );
    const log = shown.map((one) => intervalItem(one, now));
    return [[type, { last_active_filter: answerTime(last.installed_at), filter_interval_log: log }] as const];
  });
  return Object.fromEntries(entries);
}

function intervalItem(one: FilterInterval, now: EpochMs) {
  const days = (value: number | null): number | null => (value === null ? null : fourDecimals(value));
  return {
    start: answerTime(one.installed_at),
    duration: daysOf((one.removed_at ?? now) - one.installed_at),
    filter_estimated_duration: days(one.estimated_days),
    filter_maintenance_duration: days(one.maintenance_days),
    filter_nominal_duration: days(one.nominal_days),
    filter_overuse_duration: daysOf(one.overuse_ms),
  };
}

/** Times in minutes, durations in days. `judged`: with `assumed`, which the service's users don't ask for. */
export function maintenanceItem(
  record: Maintenance & { readonly assumed: boolean },
  { judged }: { readonly judged: boolean },
) {
  return {
    filter_type: record.filter_type,
    maintenance_date: answerTime(record.removed_at),
    duration: daysOf(record.duration_ms),
    overuse: daysOf(record.overuse_ms),
    active_spray_time: minutesOf(record.active_spray_ms),
    booth_in_use_time: minutesOf(record.booth_in_use_ms),
    booth_overuse_cycles: record.booth_overuse_cycles,
    booth_overuse_time: minutesOf(record.booth_overuse_ms),
    ...(judged && record.assumed ? { assumed: true as const } : {}),
  };
}

export function incidentItem(
  incident: Omit<IncidentFact["value"], "check"> & { readonly id: Seq },
  { booth_id, stream }: { readonly booth_id: string; readonly stream: StreamId },
) {
  const { id, tag_name, logic, reason, severity, resolved_at } = incident;
  return {
    id: `${stream}-${id}`,
    booth_id,
    tag_name,
    logic,
    reason,
    first_seen_at: answerTime(incident.first_seen_at),
    last_seen_at: answerTime(incident.last_seen_at),
    resolved_at: resolved_at === null ? null : answerTime(resolved_at),
    severity,
  };
}

export const CSV_HEAD = "time,tag,value,quality\n";

/** One reading as a line of the CSV export; a bad one has no value. */
export function csvLine({ at, tag, value, quality }: JudgedReading): string {
  return `${answerTime(at)},${csvField(tag)},${value === null ? "" : csvField(String(value))},${quality}\n`;
}

/** Of these a spreadsheet makes a formula, some only after it has taken the blank away, or made the wide one narrow. */
const FORMULA = /^\s*[=+\-@\uFF0B\uFF0D\uFF1D\uFF20]|^[\t\r\n]/;
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;

/** Quoted where it must be; a text that a spreadsheet would take for a formula is made harmless. A number as a whole is none. */
export function csvField(text: string): string {
  const safe = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
