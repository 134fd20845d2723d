import { FILTER_TYPES } from "../../../src/core/types/booth.ts";
import type { FilterLimits, FilterType } from "../../../src/core/types/booth.ts";
import type { Maintenance } from "../../../src/core/types/record.ts";
import type { Cycle } from "./cycles.ts";
import { changesOf } from "./filter-changes.ts";
import type { FilterChange } from "./filter-changes.ts";
import { usageOf } from "./filter-usage.ts";
import type { Installed, Usage } from "./filter-usage.ts";
import type { Stage } from "./stage.ts";
import { parametersAt } from "./log.ts";
import type { BoothLog } from "./log.ts";
import { timeIn } from "./mode-sets.ts";
import { overuseOf } from "./overuse.ts";
import { stagePressures } from "./pressure.ts";
import type { Restarts } from "./restarts.ts";
import { intersection, union } from "./span.ts";
import type { Span } from "./span.ts";
import { msWithin, spansIn } from "./window.ts";

/** One filter from its fitting to its removal. */
export interface Installation {
  readonly type: FilterType;
  readonly installed_at: number;
  /** null: still fitted. */
  readonly removed_at: number | null;
  readonly source: FilterChange["source"] | "assumed";
  readonly flagged: boolean;
  readonly limits: FilterLimits;
  readonly usage: Usage;
  /** Episodes of overuse; the last of a filter still fitted ends with Infinity. */
  readonly overuse: readonly Span[];
}

export interface FilterInput {
  readonly log: BoothLog;
  readonly stages: readonly Stage[];
  readonly cycles: readonly Cycle[];
  readonly restarts: Restarts;
  /** The booth's first good reading. */
  readonly first: number;
}

/** Every installation of every fitted filter type, in order. */
export function findInstallations(input: FilterInput): Installation[] {
  const fitted = FILTER_TYPES.filter((type) =>
    input.log.parameters.some(({ value }) => value.filters[type] !== undefined),
  );
  return fitted.flatMap((type) => installationsOf(input, type));
}

function installationsOf(input: FilterInput, type: FilterType): Installation[] {
  const { log, stages, cycles, restarts, first } = input;
  const changes = changesOf(log, type);
  const inUse = timeIn(input, "in_use");
  const pressures = stagePressures(log, type, spansIn(stages, ["spray"]));
  const known = (changes[0]?.installed_at ?? Infinity) <= first;
  const starts = known ? changes : [{ installed_at: first, source: "assumed" as const, flagged: true }, ...changes];
  return starts.map((start, i) => {
    const next = starts[i + 1];
    const removed_at = next?.installed_at ?? Infinity;
    const installed: Installed = {
      installed_at: start.installed_at,
      removed_at,
      assumed: start.source === "assumed",
      entered_at: enteredAt(start),
      removal_entered_at: next === undefined ? undefined : enteredAt(next),
    };
    const usage = usageOf(log, type, { installed, inUse, restarts });
    const overuse = overuseOf({ log, filter: type, installed, usage, cycles, pressures, stages });
    const limits = parametersAt(log, Number.isFinite(removed_at) ? removed_at : Infinity)?.filters[type]?.limits ?? {};
    const { installed_at, source, flagged } = start;
    const fitted = { type, installed_at, source, flagged };
    return { ...fitted, removed_at: Number.isFinite(removed_at) ? removed_at : null, limits, usage, overuse };
  });
}

function enteredAt(change: FilterChange | { readonly source: "assumed" }): number | undefined {
  return change.source === "assumed" ? undefined : change.entered_at;
}

/** What is known of each filter that was removed. */
export function maintenanceOf(input: FilterInput, installations: readonly Installation[]): Maintenance[] {
  const inUse = timeIn(input, "in_use");
  const sprays = spansIn(input.stages, ["spray"]);
  return installations.flatMap((filter) => {
    const { removed_at, installed_at } = filter;
    if (removed_at === null) return [];
    const life = { start: installed_at, end: removed_at };
    const counted_minutes = filter.usage.minutesAtEnd();
    const counted = input.cycles.filter(
      (cycle) => cycle.counted && cycle.end > installed_at && cycle.end <= removed_at,
    );
    const record: Maintenance = {
      filter_type: filter.type,
      installed_at,
      removed_at,
      duration_ms: removed_at - installed_at,
      overuse_ms: filter.overuse.reduce((sum, span) => sum + span.end - span.start, 0),
      overuse_since: filter.overuse[0]?.start ?? null,
      active_spray_ms: msWithin(sprays, life),
      // Usage is the PLC's where it counts.
      booth_in_use_ms: counted_minutes === null ? msWithin(inUse, life) : Math.round(counted_minutes * 60_000),
      booth_overuse_cycles: counted.filter((cycle) => endsIn(filter.overuse, cycle)).length,
      booth_overuse_ms: filter.overuse.reduce((sum, span) => sum + msWithin(inUse, span), 0),
      cycles: counted.length,
      limits: filter.limits,
      service: filter.overuse.length > 0 ? "late" : "on_time",
    };
    return [record];
  });
}

function endsIn(overuse: readonly Span[], cycle: Cycle): boolean {
  return overuse.some((span) => cycle.end > span.start && cycle.end <= span.end);
}

/** The booth's overuse: the union over its filters, in time in use and in counted cycles. */
export interface BoothOveruse {
  /** Time in use with one filter or more in overuse, ordered, without overlap. */
  readonly in_use: readonly Span[];
  /** Counted cycles that ended in overuse. */
  readonly cycles: readonly Cycle[];
  /** Every episode of every filter; the last of a filter still fitted ends with Infinity. */
  readonly episodes: readonly Span[];
}

export function allOveruse(input: FilterInput, installations: readonly Installation[]): BoothOveruse {
  const episodes = installations.flatMap((filter) => filter.overuse);
  const in_use = intersection(timeIn(input, "in_use"), union(episodes));
  const cycles = input.cycles.filter((cycle) => cycle.counted && endsIn(episodes, cycle));
  return { in_use, cycles, episodes };
}

export function overuseIn({ in_use, cycles }: BoothOveruse, window: Span): { ms: number; cycles: number } {
  const ended = cycles.filter((cycle) => cycle.end >= window.start && cycle.end < window.end);
  return { ms: msWithin(in_use, window), cycles: ended.length };
}

/** The booth's overuse in a window. */
export function boothOveruse(
  input: FilterInput,
  installations: readonly Installation[],
  window: Span,
): { ms: number; cycles: number } {
  return overuseIn(allOveruse(input, installations), window);
}
