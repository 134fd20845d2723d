import type { FilterLimits, FilterType } from "../../../src/domain/booth.ts";
import type { Installed, Usage } from "./filter-usage.ts";
import type { Stage } from "./stage.ts";
import { type BoothLog, parametersAt } from "./log.ts";
import { baselineOf, pressureReaches, type StagePressure } from "./pressure.ts";
import type { Span } from "../base/span.ts";
import { DAY_MS } from "../../../src/domain/time.ts";

/** Cycles that were counted at an instant. */
export interface Count {
  readonly time: number;
  readonly amount: number;
}

interface OveruseInput {
  readonly log: BoothLog;
  readonly filter: FilterType;
  readonly installed: Installed;
  readonly usage: Usage;
  readonly counts: readonly Count[];
  readonly pressures: readonly StagePressure[];
  readonly stages: readonly Stage[];
}

/**
 * When the filter was in overuse: from the first instant any limit is reached until its removal, or until a change of
 * the limits that its usage doesn't reach. The last episode of a filter still in place ends with Infinity.
 */
export function overuseOf(input: OveruseInput): Span[] {
  const { installed } = input;
  const out: Span[] = [];
  let running: number | undefined;
  for (const epoch of epochsOf(input.log, input.filter, installed)) {
    if (running !== undefined && !isReached(input, epoch)) {
      if (epoch.start > running) out.push({ start: running, end: epoch.start });
      running = undefined;
    }
    running ??= firstReached(input, epoch);
  }
  if (running !== undefined && running < installed.removed_at) out.push({ start: running, end: installed.removed_at });
  return out;
}

interface Epoch extends Span {
  readonly limits: FilterLimits;
}

/** The installation's time cut at changes of its limits. */
function epochsOf(log: BoothLog, filter: FilterType, { installed_at, removed_at }: Installed): Epoch[] {
  const out: Epoch[] = [];
  const add = (start: number, limits: FilterLimits): void => {
    const last = out.at(-1);
    if (last !== undefined && JSON.stringify(last.limits) === JSON.stringify(limits)) return;
    if (last !== undefined) out[out.length - 1] = { ...last, end: start };
    out.push({ start, end: removed_at, limits });
  };
  add(installed_at, parametersAt(log, installed_at)?.filters[filter]?.limits ?? {});
  for (const { time, value } of log.parameters) {
    if (time > installed_at && time < removed_at) add(time, value.filters[filter]?.limits ?? {});
  }
  return out;
}

/** Whether the limits of an epoch are reached as it begins. */
function isReached(input: OveruseInput, epoch: Epoch): boolean {
  const instant = { ...epoch, end: epoch.start + 1 };
  return firstReached(input, instant) === epoch.start || latched(input, epoch);
}

/** Pressure counts as it was in the last two stages before the change. */
function latched({ log, filter, installed, pressures }: OveruseInput, epoch: Epoch): boolean {
  const mine = pressures.filter((stage) => stage.end > installed.installed_at && stage.end <= epoch.start);
  const baseline = baselineOf(log, filter, mine);
  if (epoch.limits.pressure_pa === undefined || baseline === undefined || mine.length < 2) return false;
  const limit = baseline + epoch.limits.pressure_pa;
  return mine.slice(-2).every((stage) => stage.pascal > limit);
}

function firstReached(input: OveruseInput, epoch: Epoch): number | undefined {
  const { limits } = epoch;
  const { installed, usage, log, filter } = input;
  const found: (number | undefined)[] = [];
  if (limits.minutes !== undefined) found.push(usage.reaches(limits.minutes, epoch));
  if (limits.cycles !== undefined && !installed.assumed) {
    let left = limits.cycles;
    const mine = input.counts.filter(({ time }) => time > installed.installed_at);
    const at = mine.find(({ amount }) => (left -= amount) <= 0)?.time;
    if (at !== undefined && at < epoch.end) found.push(Math.max(at, epoch.start));
  }
  if (limits.days !== undefined && !installed.assumed) {
    const at = installed.installed_at + limits.days * DAY_MS;
    if (at < epoch.end) found.push(firstGoodFrom(input.stages, Math.max(at, epoch.start)));
  }
  if (limits.pressure_pa !== undefined) {
    const mine = input.pressures.filter((stage) => stage.end > installed.installed_at);
    const baseline = baselineOf(log, filter, mine);
    if (baseline !== undefined) found.push(pressureReaches(mine, baseline + limits.pressure_pa, epoch));
  }
  const instants = found.filter((time) => time !== undefined && time < epoch.end) as number[];
  return instants.length === 0 ? undefined : Math.min(...instants);
}

/**
 * Returns the first good reading at or after an instant: overuse that falls due in a gap starts there, and not before
 * the gap has ended.
 */
function firstGoodFrom(stages: readonly Stage[], time: number): number | undefined {
  const index = stages.findIndex((stage) => stage.start <= time && stage.end > time);
  const stage = stages[index];
  if (stage === undefined) return undefined;
  if (stage.mode !== "no_data") return time;
  return stages[index + 1]?.start;
}
