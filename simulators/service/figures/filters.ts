import { FILTER_TYPES, type FilterLimits, type FilterType } from "../../../src/domain/booth.ts";
import type { Maintenance } from "../../../src/domain/record.ts";
import { changesOf, type FilterChange } from "./filter-changes.ts";
import { type Installed, type Usage, usageOf } from "./filter-usage.ts";
import type { Stage } from "./stage.ts";
import { type BoothLog, parametersAt } from "./log.ts";
import { timeIn } from "./mode-sets.ts";
import { overuseOf, type Count } from "./overuse.ts";
import { stagePressures } from "./pressure.ts";
import type { Restarts } from "./restarts.ts";
import { intersection, type Span, union } from "../base/span.ts";
import { msWithin, spansIn } from "./window.ts";

/** A filter from its installation to its removal. */
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
  readonly counts: readonly Count[];
  readonly restarts: Restarts;
  /** The booth's first good reading. */
  readonly first: number;
}

/** Returns every installation of every fitted filter type, in order. */
export function findInstallations(input: FilterInput): Installation[] {
  const fitted = FILTER_TYPES.filter((type) =>
    input.log.parameters.some(({ value }) => value.filters[type] !== undefined),
  );
  return fitted.flatMap((type) => installationsOf(input, type));
}

function installationsOf(input: FilterInput, type: FilterType): Installation[] {
  const { log, stages, counts, restarts } = input;
  const changes = changesOf(log, type);
  const inUse = timeIn(input, "in_use");
  const pressures = stagePressures(log, type, spansIn(stages, ["spray"]));
  const first = Math.max(input.first, fittedSince(log, type));
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
    const overuse = overuseOf({ log, filter: type, installed, usage, counts, pressures, stages });
    const limits = parametersAt(log, Number.isFinite(removed_at) ? removed_at : Infinity)?.filters[type]?.limits ?? {};
    const { installed_at, source, flagged } = start;
    const fitted = { type, installed_at, source, flagged };
    return { ...fitted, removed_at: Number.isFinite(removed_at) ? removed_at : null, limits, usage, overuse };
  });
}

/** Returns the start of the parameters that first name it, because a filter may be fitted later. */
function fittedSince(log: BoothLog, type: FilterType): number {
  return log.parameters.find(({ value }) => value.filters[type] !== undefined)?.time ?? 0;
}

function enteredAt(change: FilterChange | { readonly source: "assumed" }): number | undefined {
  return change.source === "assumed" ? undefined : change.entered_at;
}

/** Returns the maintenance data of each removed filter. */
export function maintenanceOf(input: FilterInput, installations: readonly Installation[]): Maintenance[] {
  const inUse = timeIn(input, "in_use");
  const sprays = spansIn(input.stages, ["spray"]);
  return installations.flatMap((filter) => {
    const { removed_at, installed_at } = filter;
    if (removed_at === null) return [];
    const life = { start: installed_at, end: removed_at };
    const counted_minutes = filter.usage.minutesAtEnd();
    const counted = input.counts.filter(({ time }) => time > installed_at && time <= removed_at);
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
      booth_overuse_cycles: sumOf(counted.filter((count) => isIn(filter.overuse, count))),
      booth_overuse_ms: filter.overuse.reduce((sum, span) => sum + msWithin(inUse, span), 0),
      cycles: sumOf(counted),
      limits: filter.limits,
      service: filter.overuse.length > 0 ? "late" : "on_time",
    };
    return [record];
  });
}

function isIn(overuse: readonly Span[], { time }: Count): boolean {
  return overuse.some((span) => time > span.start && time <= span.end);
}

function sumOf(counts: readonly Count[]): number {
  return counts.reduce((sum, { amount }) => sum + amount, 0);
}

/** The booth's overuse: the union over its filters, in time in use and in counted cycles. */
interface BoothOveruse {
  /** Time in use with one filter or more in overuse, ordered, without overlap. */
  readonly in_use: readonly Span[];
  /** Cycles counted in overuse. */
  readonly counts: readonly Count[];
  /** Every episode of every filter; the last of a filter still fitted ends with Infinity. */
  readonly episodes: readonly Span[];
}

export function allOveruse(input: FilterInput, installations: readonly Installation[]): BoothOveruse {
  const episodes = installations.flatMap((filter) => filter.overuse);
  const in_use = intersection(timeIn(input, "in_use"), union(episodes));
  const counts = input.counts.filter((count) => isIn(episodes, count));
  return { in_use, counts, episodes };
}

export function overuseIn({ in_use, counts }: BoothOveruse, window: Span): { ms: number; cycles: number } {
  const inside = counts.filter(({ time }) => time >= window.start && time < window.end);
  return { ms: msWithin(in_use, window), cycles: sumOf(inside) };
}

/** The booth's overuse in a window. */
export function boothOveruse(
  input: FilterInput,
  installations: readonly Installation[],
  window: Span,
): { ms: number; cycles: number } {
  return overuseIn(allOveruse(input, installations), window);
}
