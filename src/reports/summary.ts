import { entriesOf } from "../derivation/filters/entries.ts";
import { runningEpisode, usedShare } from "../derivation/filters/overuse.ts";
import type { DeriveState, Installation } from "../derivation/state.ts";
import { tagWithRole, unfitUnits } from "../derivation/parameters.ts";
import { openEndOf } from "../derivation/fold.ts";
import { FILTER_TYPES, type FilterType, type Mode } from "../domain/booth.ts";
import type { BoothSummary, FilterSummary } from "../domain/summary.ts";
import type { TagRole } from "../domain/parameters.ts";
import type { EpochMs, Milliseconds } from "../domain/units.ts";
import { dayStart } from "../domain/time-zone.ts";
import { usageOf } from "./filters.ts";
import { updatedAt } from "./findings.ts";

/** Of its life, when a filter's change is due to be thought of. */
const WARNING_SHARE = 0.8;

/**
 * What the fold's state says at `nowMs` (corrected time). Cheap enough for each heartbeat.
 */
export function summaryOf(given: DeriveState, nowMs: EpochMs): BoothSummary {
  const { state, stages } = openEndOf(given, nowMs);
  const last = stages.at(-1);
  const known = state.bays.filter(({ open }) => open !== null).map(({ good_until }) => good_until);
  const last_good_at = known.length === 0 ? null : Math.max(...known);
  // The stage's span ends where it is still counted; past that the mode isn't known.
  const in_gap = last !== undefined && last.end < nowMs && (last_good_at === null || last_good_at < nowMs);
  const raws = state.bays.map(({ raw }) => raw).filter((raw) => raw !== null);
  const { firmware, program } = state.revisions;
  const unfit_units = unfitUnits(state.parameters);
  return {
    mode: last === undefined || in_gap ? "no_data" : last.mode,
    since: in_gap ? last.end : (last?.start ?? null),
    raw: raws.length === 0 ? null : raws.join("/"),
    ...cyclesOf(state, nowMs),
    run_open: state.bays.some(({ run }) => run !== null),
    filter_entries: entriesOf(state, nowMs),
    open_incidents: Object.keys(state.incidents).length,
    ...(unfit_units.length === 0 ? {} : { unfit_units }),
    filters: filtersOf(state, nowMs),
    firmware_version: firmware.entered?.version ?? null,
    last_firmware_update: updatedAt(firmware),
    last_program_update: updatedAt(program),
    last_active_mode: lastActive(state, last?.mode ?? null),
    plc_serial: textOf(state, "plc_serial"),
    plc_program: program.entered?.version ?? null,
    plc_program_revision: program.entered?.revision ?? null,
    read: {
      firmware_version: orNull(firmware.read.version),
      plc_program: orNull(program.read.version),
      plc_program_revision: orNull(program.read.revision),
    },
    last_good_at,
    in_gap: in_gap || last?.mode === "no_data",
  };
}

function orNull(text: string): string | null {
  return text === "" ? null : text;
}

/**
 * Time by mode of the local day so far, from the state alone, which remembers a day and a half: the same as `durationByMode` gives for
 * that window. Law: the sum is the day so far exactly.
 */
export function durationsToday(given: DeriveState, nowMs: EpochMs): Readonly<Partial<Record<Mode, Milliseconds>>> {
  const { state, stages } = openEndOf(given, nowMs);
  const today = dayStart(state.parameters?.tz ?? "UTC", nowMs);
  const { slices } = state.recent;
  const settled = slices.at(-1)?.to ?? today;
  const spans = [
    ...slices.map(({ mode, from, to }) => ({ mode, from, to })),
    ...stages.map(({ mode, start, end }) => ({ mode, from: Math.max(start, settled), to: end })),
  ];
  const sums: Partial<Record<Mode, Milliseconds>> = {};
  let rest = nowMs - today;
  for (const { mode, from, to } of spans) {
    const ms = Math.min(to, nowMs) - Math.max(from, today);
    if (ms <= 0) continue;
    sums[mode] = (sums[mode] ?? 0) + ms;
    rest -= ms;
  }
  return rest > 0 ? { ...sums, no_data: (sums.no_data ?? 0) + rest } : sums;
}

function cyclesOf(state: DeriveState, nowMs: EpochMs): Pick<BoothSummary, "cycles_today" | "cycles_total"> {
  const today = dayStart(state.parameters?.tz ?? "UTC", nowMs);
  const tag = tagWithRole(state.parameters, "cycle_counter");
  const { increments, ends } = state.recent;
  if (tag === undefined) return { cycles_today: ends.filter((end) => end >= today).length, cycles_total: null };
  const counted = increments.filter(([at]) => at >= today).reduce((sum, [, steps]) => sum + steps, 0);
  return { cycles_today: counted, cycles_total: state.counters[tag]?.raw ?? null };
}

function filtersOf(state: DeriveState, nowMs: EpochMs): Partial<Record<FilterType, FilterSummary>> {
  const filters: Partial<Record<FilterType, FilterSummary>> = {};
  for (const type of FILTER_TYPES) {
    const filter = state.filters[type];
    if (filter !== undefined) filters[type] = filterSummary(filter.current, nowMs);
  }
  return filters;
}

function filterSummary(filter: Installation, nowMs: EpochMs): FilterSummary {
  return { ...usageOf(filter), state: stateOfFilter(filter, nowMs) };
}

function stateOfFilter(filter: Installation, nowMs: EpochMs): FilterSummary["state"] {
  if (runningEpisode(filter) !== null) return "overuse";
  const share = usedShare(filter, nowMs);
  if (share === null) return null;
  // A counter's decimal steps aren't exact in binary.
  return share >= WARNING_SHARE - 1e-9 ? "warning" : "good";
}

function lastActive(state: DeriveState, now: Mode | null): Mode | null {
  const run = state.parameters?.mode_sets.run ?? [];
  if (now !== null && run.includes(now)) return now;
  return state.recent.slices.findLast(({ mode }) => run.includes(mode))?.mode ?? null;
}

function textOf(state: DeriveState, role: TagRole): string | null {
  const tag = tagWithRole(state.parameters, role);
  const value = tag === undefined ? undefined : state.latest[tag]?.value;
  return typeof value === "string" ? value : null;
}
