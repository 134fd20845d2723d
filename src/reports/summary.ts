import { entriesOf } from "../derivation/filters/entries.ts";
import { runningEpisode, sumOf, usedShare } from "../derivation/filters/overuse.ts";
import { openEndOf } from "../derivation/fold.ts";
import { tagWithRole, unfitUnits } from "../derivation/parameters.ts";
import type { DeriveState, Installation } from "../derivation/state.ts";
import { FILTER_TYPES, type Mode } from "../domain/booth.ts";
import type { BoothSummary, FilterSummary } from "../domain/summary.ts";
import { dayStart } from "../domain/time-zone.ts";
import type { EpochMs, Milliseconds } from "../domain/units.ts";
import { usageOf } from "./filters.ts";
import { updatedAt } from "./findings.ts";
import { zoneOf } from "./rules.ts";

/** Share of a filter's life after which a change should be planned. */
const WARNING_SHARE = 0.8;

/** Summarizes the state at `nowMs` (corrected time). Fast enough for each heartbeat. */
export function summaryOf(given: DeriveState, nowMs: EpochMs): BoothSummary {
  const { state, stages } = openEndOf(given, nowMs);
  const { bays, parameters, recent, latest, revisions } = state;
  const last = stages.at(-1);
  const known = bays.filter(({ open }) => open !== null).map(({ good_until }) => good_until);
  const last_good_at = known.length === 0 ? null : Math.max(...known);
  // Treats the mode as unknown after the last stage, which ends at the latest when its last good reading is no longer valid.
  const in_gap = last !== undefined && last.end < nowMs && (last_good_at === null || last_good_at < nowMs);
  const raws = bays.map(({ raw }) => raw).filter((raw) => raw !== null);
  const { firmware, program } = revisions;
  const unfit_units = unfitUnits(parameters);
  const runModes = parameters?.mode_sets.run ?? [];
  const isRun = (mode: Mode | undefined): boolean => mode !== undefined && runModes.includes(mode);
  const serial = latest[tagWithRole(parameters, "plc_serial") ?? ""]?.value;
  return {
    mode: last === undefined || in_gap ? "no_data" : last.mode,
    since: in_gap ? last.end : (last?.start ?? null),
    raw: raws.length === 0 ? null : raws.join("/"),
    ...cyclesOf(state, nowMs),
    run_open: bays.some(({ run }) => run !== null),
    filter_entries: entriesOf(state, nowMs),
    open_incidents: Object.keys(state.incidents).length,
    ...(unfit_units.length === 0 ? {} : { unfit_units }),
    filters: filtersOf(state, nowMs),
    firmware_version: firmware.entered?.version ?? null,
    last_firmware_update: updatedAt(firmware),
    last_program_update: updatedAt(program),
    last_active_mode: (isRun(last?.mode) ? last : recent.slices.findLast(({ mode }) => isRun(mode)))?.mode ?? null,
    plc_serial: typeof serial === "string" ? serial : null,
    plc_program: program.entered?.version ?? null,
    plc_program_revision: program.entered?.revision ?? null,
    read: {
      firmware_version: firmware.read.version || null,
      plc_program: program.read.version || null,
      plc_program_revision: program.read.revision || null,
    },
    last_good_at,
    in_gap: in_gap || last?.mode === "no_data",
  };
}

/**
 * Returns the time by mode of the local day so far, from the state alone, which keeps a day and a half. The result equals `durationByMode`
 * of that window, and its sum is exactly the length of the day so far.
 */
export function durationsToday(given: DeriveState, nowMs: EpochMs): Readonly<Partial<Record<Mode, Milliseconds>>> {
  const { state, stages } = openEndOf(given, nowMs);
  const today = dayStart(zoneOf(state), nowMs);
  const { slices } = state.recent;
  const settled = slices.at(-1)?.to ?? today;
  const spans = [
    ...slices,
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
  const today = dayStart(zoneOf(state), nowMs);
  const tag = tagWithRole(state.parameters, "cycle_counter");
  const { increments, ends } = state.recent;
  if (tag === undefined) return { cycles_today: ends.filter((end) => end >= today).length, cycles_total: null };
  const counted = sumOf(increments.filter(([at]) => at >= today));
  return { cycles_today: counted, cycles_total: state.counters[tag]?.raw ?? null };
}

function filtersOf(state: DeriveState, nowMs: EpochMs): BoothSummary["filters"] {
  return Object.fromEntries(
    FILTER_TYPES.flatMap((type) => {
      const filter = state.filters[type]?.current;
      return filter === undefined ? [] : [[type, { ...usageOf(filter), state: conditionOf(filter, nowMs) }]];
    }),
  );
}

function conditionOf(filter: Installation, nowMs: EpochMs): FilterSummary["state"] {
  if (runningEpisode(filter) !== null) return "overuse";
  const share = usedShare(filter, nowMs);
  if (share === null) return null;
  // Allows for a counter's decimal steps, which aren't exact in binary.
  return share >= WARNING_SHARE - 1e-9 ? "warning" : "good";
}
