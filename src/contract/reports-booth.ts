import { FILTER_TYPES, type FilterType, type Quality, type TagValue } from "../domain/booth.ts";
import type { IncidentFact, Maintenance, RevisionFact } from "../domain/record.ts";
import type { EpochMs, Milliseconds, Seq, StreamId, TagName } from "../domain/units.ts";
import { answerTime, minutesOf } from "./time.ts";
import { daysOf, pagesOf } from "./reports.ts";
import type { Paging } from "./reports-query.ts";

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
  const items = values.map(({ tag, at, value }) => [
    tag,
    { name: tag, system_time: answerTime(at), value: String(value) },
  ]);
  return { data: Object.fromEntries(items) as Record<string, { name: string; system_time: string; value: string }> };
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

export interface FilterInterval {
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
export function filterMaintenancesItem(
  all: readonly FilterInterval[],
  window: { readonly start: EpochMs; readonly end: EpochMs },
  now: EpochMs,
) {
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
  const days = (value: number | null): number | null => (value === null ? null : Math.round(value * 10_000) / 10_000);
  return {
    start: answerTime(one.installed_at),
    duration: daysOf((one.removed_at ?? now) - one.installed_at),
    filter_estimated_duration: days(one.estimated_days),
    filter_maintenance_duration: days(one.maintenance_days),
    filter_nominal_duration: days(one.nominal_days),
    filter_overuse_duration: daysOf(one.overuse_ms),
  };
}

/** Times in minutes, durations in days. */
export function maintenanceItem(record: Maintenance) {
  return {
    filter_type: record.filter_type,
    maintenance_date: answerTime(record.removed_at),
    duration: daysOf(record.duration_ms),
    overuse: daysOf(record.overuse_ms),
    active_spray_time: minutesOf(record.active_spray_ms),
    booth_in_use_time: minutesOf(record.booth_in_use_ms),
    booth_overuse_cycles: record.booth_overuse_cycles,
    booth_overuse_time: minutesOf(record.booth_overuse_ms),
  };
}

export function incidentItem(
  incident: Omit<IncidentFact["value"], "check"> & { readonly id: Seq },
  { booth_id, stream }: { readonly booth_id: string; readonly stream: StreamId },
) {
  const { id, tag_name, logic, reason, severity, resolved_at } = incident;
  return {
    id: `${stream}-${id.toString()}`,
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
function csvField(text: string): string {
  const safe = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
