import {
  FILTER_TYPES,
  type FilterType,
  type Mode,
  MODES_LISTED,
  type Quality,
  type TagValue,
  wireNameOf,
} from "../domain/booth.ts";
import type { CycleFact, IncidentFact, Maintenance, RevisionFact } from "../domain/record.ts";
import type { EpochMs, Milliseconds, Seq, StreamId, TagName } from "../domain/units.ts";
import type { Paging, Span } from "./reports-query.ts";
import { answerTime, minutesOf } from "./time.ts";
import { DAY_MS } from "../domain/time.ts";

type ByMode = Readonly<Partial<Record<Mode, number>>>;
type Figures<K extends string, V = number> = Readonly<Record<K, V>>;

/** Returns one page of a list in the service's page object. */
export function envelopeOf<T>(items: readonly T[], { page, limit }: Paging) {
  const total = items.length;
  if (limit === -1) return { data: items, page: 1, limit, pages: 1, total };
  const data = items.slice((page - 1) * limit, page * limit);
  return { data, page, limit, pages: pagesOf(total, limit), total };
}

function pagesOf(total: number, limit: number): number {
  return Math.max(1, Math.ceil(total / limit));
}

/** Rounds to four decimals, as for energy, percentages and days. */
function fourDecimals<T extends number | null>(value: T): T | number {
  return value === null ? value : Math.round(value * 10_000) / 10_000;
}

function daysOf(ms: Milliseconds): number {
  return fourDecimals(ms / DAY_MS);
}

function named<T>(by_mode: ByMode, shape: (mode: string, value: number) => T): T[] {
  return MODES_LISTED.flatMap((mode) => {
    const value = by_mode[mode] ?? 0;
    return value > 0 ? [shape(wireNameOf(mode), value)] : [];
  });
}

function durations(by_mode: ByMode) {
  return named(by_mode, (mode, ms) => ({ mode, duration: minutesOf(ms) }));
}

export function durationBody(booth_id: string, { start, end }: Span, by_mode: ByMode) {
  return { booth_id, start: answerTime(start), end: answerTime(end), modes: durations(by_mode) };
}

export function frequencyBody(booth_id: string, { start, end }: Span, by_mode: ByMode) {
  const modes = named(by_mode, (mode, count) => ({ mode, count }));
  return { booth_id, start: answerTime(start), end: answerTime(end), modes };
}

/** Writes a duration in days, seconds and microseconds, all of the same sign. Months are always 0. */
export function intervalBody(ms: Milliseconds) {
  const days = Math.trunc(ms / DAY_MS);
  const rest = ms - days * DAY_MS;
  const secs = Math.trunc(rest / 1000);
  // Adds 0 to turn a negative zero into a plain zero.
  return { months: 0, days: days + 0, secs: secs + 0, microsecs: (rest - secs * 1000) * 1000 + 0 };
}

export function runtimeBody(periods: Figures<"current_ms" | "previous_ms" | "delta_ms">) {
  return {
    current_period: intervalBody(periods.current_ms),
    previous_period: intervalBody(periods.previous_ms),
    delta: intervalBody(periods.delta_ms),
  };
}

export function runtimeSeriesItem({ start, ms }: Figures<"start" | "ms">) {
  return { time: answerTime(start), value: minutesOf(ms) };
}

type UseFigures = Figures<"in_use_ms" | "working_ms" | "cycle_count"> &
  Figures<"utilization_pct" | "gas_therm" | "energy_kwh", number | null> &
  Figures<"approximate", boolean>;

/** Writes the figures of utilization. Energy without a meter is written as 0, as the service does. */
export function utilizationBody(figures: UseFigures & Figures<"overtime_ms">) {
  return {
    utilization_minutes: minutesOf(figures.in_use_ms),
    working_minutes: minutesOf(figures.working_ms),
    utilization_pct: fourDecimals(figures.utilization_pct),
    overtime_minutes: minutesOf(figures.overtime_ms),
    cycle_count: figures.cycle_count,
    gas_usage: fourDecimals(figures.gas_therm ?? 0),
    kwh_usage: fourDecimals(figures.energy_kwh ?? 0),
    ...approximateField(figures),
  };
}

/**
 * Marks an answer whose window cuts an hour that is no longer in the log. The service has the readings of that hour and never sends this
 * field.
 */
export function approximateField({ approximate }: Figures<"approximate", boolean>): { readonly approximate?: true } {
  return approximate ? { approximate: true } : {};
}

export function utilizationSummaryBody(
  figures: Figures<"all_active_ms" | "in_use_ms" | "idle_ms" | "bake_ms"> & { readonly by_mode: ByMode },
) {
  return {
    all_active_modes: minutesOf(figures.all_active_ms),
    in_use: minutesOf(figures.in_use_ms),
    idle: minutesOf(figures.idle_ms),
    bake: minutesOf(figures.bake_ms),
    modes: durations(figures.by_mode),
  };
}

type Slot = Span & { readonly by_mode: ByMode };

export function timelineItem({ start, end, by_mode }: Slot) {
  return { timestamp: answerTime(start), duration: minutesOf(end - start), modes: durations(by_mode) };
}

/**
 * Returns a bar of a chart on the box's own page, with the field names of `utilization_stats` and `duration_by_mode`. Instants are in epoch
 * ms. Energy is null without a meter and an estimate.
 */
export function periodItem(period: UseFigures & Slot) {
  return {
    start: period.start,
    end: period.end,
    modes: durations(period.by_mode),
    utilization_minutes: minutesOf(period.in_use_ms),
    working_minutes: minutesOf(period.working_ms),
    utilization_pct: fourDecimals(period.utilization_pct),
    cycle_count: period.cycle_count,
    gas_usage: fourDecimals(period.gas_therm),
    kwh_usage: fourDecimals(period.energy_kwh),
    ...approximateField(period),
  };
}

/** Returns a cycle for the box's own page. Instants are in epoch ms. */
export function cycleItem({ start, end, result, counted }: CycleFact["value"]) {
  return { start, end, result, counted };
}

export function stageItem({ mode, start, end }: Span & { readonly mode: Mode }) {
  return { mode: wireNameOf(mode), start_time: answerTime(start), end_time: answerTime(end) };
}

/** Returns the observed, inferred and missing time of a figure, in minutes. */
export function coverageBody(coverage: Figures<"observed_ms" | "inferred_ms" | "missing_ms">) {
  return {
    observed: minutesOf(coverage.observed_ms),
    inferred: minutesOf(coverage.inferred_ms),
    missing: minutesOf(coverage.missing_ms),
  };
}

interface TagReading {
  readonly tag: TagName;
  readonly value: TagValue;
  readonly at: EpochMs;
}

type JudgedReading = TagReading & { readonly quality: Quality };

/**
 * Groups a page of readings by tag. The page's limit counts the readings of all tags together. `judged` adds the quality, which the
 * service's answers lack.
 */
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

/** Returns the last value of each tag, as text. */
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
    // Uses the program's name as `version` if the profile has no revision.
    program_versions: programs.map(({ plc_program, plc_program_revision, first_seen_at }) => ({
      version: plc_program_revision ?? plc_program,
      plc_program,
      installed_at: answerTime(first_seen_at),
    })),
  };
}

type FilterInterval = Figures<"installed_at" | "overuse_ms"> &
  Figures<"removed_at" | "estimated_days" | "nominal_days" | "maintenance_days", number | null> & {
    readonly type: FilterType;
  };

/**
 * Lists the filter installations of the window by filter type. `all` may contain installations outside the window, because the date of the
 * last installation is always shown.
 */
export function filterMaintenancesItem(all: readonly FilterInterval[], window: Span, now: EpochMs) {
  const entries = FILTER_TYPES.flatMap((type) => {
    const installations = all.filter((one) => one.type === type);
    const last = installations.at(-1);
    if (last === undefined) return [];
    const shown = installations.filter(
      ({ installed_at, removed_at }) => installed_at <= window.end && (removed_at ?? Infinity) > window.start,
    );
    const filter_interval_log = shown.map((one) => ({
      start: answerTime(one.installed_at),
      duration: daysOf((one.removed_at ?? now) - one.installed_at),
      filter_estimated_duration: fourDecimals(one.estimated_days),
      filter_maintenance_duration: fourDecimals(one.maintenance_days),
      filter_nominal_duration: fourDecimals(one.nominal_days),
      filter_overuse_duration: daysOf(one.overuse_ms),
    }));
    return [[type, { last_active_filter: answerTime(last.installed_at), filter_interval_log }] as const];
  });
  return Object.fromEntries(entries);
}

/** Returns a filter maintenance, with times in minutes and durations in days. `judged` adds `assumed`, which the service's answers lack. */
export function maintenanceItem(
  record: Maintenance & Figures<"assumed", boolean>,
  { judged }: Figures<"judged", boolean>,
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

/** Writes a reading as a line of the CSV export. A bad reading has no value. */
export function csvLine({ at, tag, value, quality }: JudgedReading): string {
  return `${answerTime(at)},${csvField(tag)},${value === null ? "" : csvField(String(value))},${quality}\n`;
}

/** Matches texts that spreadsheets read as a formula. Some do so after removing blanks or narrowing full-width characters. */
const FORMULA = /^\s*[=+\-@\uFF0B\uFF0D\uFF1D\uFF20]|^[\t\r\n]/;
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;

/**
 * Quotes a CSV field if needed, and puts an apostrophe before a text that a spreadsheet would read as a formula. Numbers are left as they
 * are.
 */
export function csvField(text: string): string {
  const safe = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
