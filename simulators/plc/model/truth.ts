import { FILTER_TYPES, type FilterType, type Mode } from "../../../src/domain/booth.ts";
import { RUN_PAUSE_MS } from "./cycles.ts";
import { filterTruth } from "./filters.ts";
import type { BoothState, CycleTruth, Entry, FilterTruth, Rules, TruthEvent } from "./types.ts";

export interface StageTruth {
  readonly mode: Mode;
  readonly start: number;
  readonly end: number;
}

/** An installation that overlaps the window, with `minutes` at its removal or the window's end. */
interface InstallationTruth extends FilterTruth {
  /** In-use time in overuse, inside the window. */
  readonly overuse_ms: number;
  /** Counted cycles that ended in overuse inside the window. */
  readonly overuse_cycles: number;
}

/** The true events and sums in [from, to). Instants are epoch ms; sums of ms are integers. */
export interface Truth {
  readonly from: number;
  readonly to: number;
  /** Stages that cover the window without gaps. no_data: the PLC had no power. */
  readonly stages: readonly StageTruth[];
  readonly ms_by_mode: Readonly<Partial<Record<Mode, number>>>;
  /** Cycles whose END is inside the window. */
  readonly cycles: readonly CycleTruth[];
  /** Number of counted cycles. */
  readonly cycle_count: number;
  /** Increase of the PLC's own cycle counter. A cycle without a bake is counted up to 120 s after its END. */
  readonly cycle_increments: number;
  readonly run_minutes: number;
  readonly run_ms: number;
  readonly in_use_ms: number;
  readonly spray_ms: number;
  readonly filters: Readonly<Partial<Record<FilterType, readonly InstallationTruth[]>>>;
  /**
   * Union over the filters: a minute or cycle counts once. `episodes` is the sum of the episodes that overlap the
   * window.
   */
  readonly overuse: { readonly ms: number; readonly cycles: number; readonly episodes: number };
  readonly revisions: readonly Extract<TruthEvent, { kind: "revision" }>[];
  readonly gas_therm: number;
  readonly energy_kwh: number;
  /** Spans in which reads failed: the PLC had no power, or the cable was unplugged. */
  readonly outages: readonly { readonly start: number; readonly end: number; readonly cause: "power" | "cable" }[];
}

interface TruthSource {
  /** Returns every entry up to an instant. */
  readonly entriesUpTo: (at: number) => readonly Entry[];
  readonly stateAt: (at: number) => BoothState;
  readonly rules: Rules;
}

type Span = readonly [number, number];
type EventOf<K extends TruthEvent["kind"]> = Extract<TruthEvent, { readonly kind: K }>;

function eventsOf<K extends TruthEvent["kind"]>(entries: readonly Entry[], kind: K): readonly EventOf<K>[] {
  const isWanted = (event: TruthEvent): event is EventOf<K> => event.kind === kind;
  return entries.flatMap((entry) => entry.events.filter(isWanted));
}

function stagesOf(entries: readonly Entry[], from: number, to: number): readonly StageTruth[] {
  const starts = eventsOf(entries, "stage");
  return starts
    .map((stage, i): StageTruth => {
      const begin = i === 0 ? from : stage.at;
      const start = Math.max(from, begin);
      return { mode: stage.mode, start, end: Math.min(to, starts[i + 1]?.at ?? to) };
    })
    .filter((stage) => stage.start < stage.end);
}

function sumByMode(stages: readonly StageTruth[]): Readonly<Partial<Record<Mode, number>>> {
  const sums: Partial<Record<Mode, number>> = {};
  for (const { mode, start, end } of stages) sums[mode] = (sums[mode] ?? 0) + end - start;
  return sums;
}

function outagesOf(entries: readonly Entry[], from: number, to: number): Truth["outages"] {
  return (["power", "cable"] as const).flatMap((cause) => {
    const switches = eventsOf(entries, cause);
    return switches
      .map(({ at, on }, i) => ({ on, start: Math.max(from, at), end: Math.min(to, switches[i + 1]?.at ?? to) }))
      .filter((span) => !span.on && span.start < span.end)
      .map(({ start, end }) => ({ start, end, cause }));
  });
}

/** Returns every installation of a type that overlaps the window, oldest first. */
function installationsOf(source: TruthSource, type: FilterType, window: Span): readonly FilterTruth[] {
  const [from, to] = window;
  const state = source.stateAt(to);
  const present = state.filters[type];
  if (!present) return [];
  const removed = eventsOf(source.entriesUpTo(to), "filter_change").filter((event) => event.filter === type);
  const all: FilterTruth[] = removed.map(({ installed_at, removed: out, minutes, spray_minutes, overuse_since }) => ({
    installed_at,
    removed: out,
    minutes,
    spray_minutes,
    overuse_since,
  }));
  return [...all, filterTruth(state, present, null)].filter((f) => f.installed_at < to && (f.removed ?? to) > from);
}

function overuseSpan(filter: FilterTruth, window: Span): Span | null {
  if (filter.overuse_since === null) return null;
  const start = Math.max(window[0], filter.overuse_since);
  const end = Math.min(window[1], filter.removed ?? window[1]);
  return start < end ? [start, end] : null;
}

function unite(spans: readonly Span[]): readonly Span[] {
  const united: Span[] = [];
  for (const span of spans.toSorted((a, b) => a[0] - b[0])) {
    const last = united.at(-1);
    if (last && span[0] <= last[1]) united[united.length - 1] = [last[0], Math.max(last[1], span[1])];
    else united.push(span);
  }
  return united;
}

/** Whether the cycle ended in overuse: overuse_since < END <= removed. */
function isOverusing(filter: FilterTruth, cycle: CycleTruth): boolean {
  return filter.overuse_since !== null && filter.overuse_since < cycle.end && cycle.end <= (filter.removed ?? Infinity);
}

/** Computes the truth from the model's entries by the definitions of the domain, without derivation's code. */
export function truthOf(source: TruthSource, from: number, to: number): Truth {
  const entries = source.entriesUpTo(to);
  const stages = stagesOf(entries, from, to);
  const cycles = cyclesOf(source, from, to);
  const counted = cycles.filter((cycle) => cycle.counted);
  const window: Span = [from, to];
  const a = source.stateAt(from).totals;
  const b = source.stateAt(to).totals;
  const inUse = (span: Span): number =>
    source.stateAt(span[1]).totals.in_use_ms - source.stateAt(span[0]).totals.in_use_ms;
  const byType = FILTER_TYPES.map((type) => [type, installationsOf(source, type, window)] as const);
  const overdue = byType.flatMap(([, installations]) => installations);
  const spans = overdue.map((f) => overuseSpan(f, window)).filter((span) => span !== null);
  const withOveruse = (f: FilterTruth): InstallationTruth => {
    const span = overuseSpan(f, window);
    const overuse_cycles = counted.filter((cycle) => isOverusing(f, cycle)).length;
    return { ...f, overuse_ms: span ? inUse(span) : 0, overuse_cycles };
  };
  return {
    from,
    to,
    stages,
    ms_by_mode: sumByMode(stages),
    cycles,
    cycle_count: counted.length,
    cycle_increments: b.cycles - a.cycles,
    run_minutes: (b.run_ms - a.run_ms) / 60_000,
    run_ms: b.run_ms - a.run_ms,
    in_use_ms: b.in_use_ms - a.in_use_ms,
    spray_ms: b.spray_ms - a.spray_ms,
    filters: Object.fromEntries(byType.filter(([, f]) => f.length > 0).map(([type, f]) => [type, f.map(withOveruse)])),
    overuse: {
      ms: unite(spans).reduce((sum, span) => sum + inUse(span), 0),
      cycles: counted.filter((cycle) => overdue.some((f) => isOverusing(f, cycle))).length,
      episodes: spans.length,
    },
    revisions: eventsOf(entries, "revision").filter((event) => event.at >= from && event.at < to),
    gas_therm: b.gas_therm - a.gas_therm,
    energy_kwh: b.energy_kwh - a.energy_kwh,
    outages: outagesOf(entries, from, to),
  };
}

/** A cycle is certain only after the pause that ends its run, so this reads beyond the window's end. */
function cyclesOf(source: TruthSource, from: number, to: number): readonly CycleTruth[] {
  return eventsOf(source.entriesUpTo(to + RUN_PAUSE_MS), "cycle")
    .filter((event) => event.end >= from && event.end < to)
    .map(({ start, end, result, reason, counted, spray_ms, bake_ms }) => ({
      start,
      end,
      result,
      reason,
      counted,
      spray_ms,
      bake_ms,
    }));
}
