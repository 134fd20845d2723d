import type { FilterType } from "../../../src/domain/booth.ts";
import { bridgeMs } from "./bridge.ts";
import {
  type BoothLog,
  type FilterInput,
  minuteSamplesOf,
  parametersAt,
  perLog,
  type Sample,
  tagsOfRole,
} from "./log.ts";
import { coilEdges, findRestarts, type Restarts } from "./restarts.ts";
import { sinceLastPoll } from "./search.ts";
import { MINUTE_MS } from "../../../src/domain/time.ts";

const SAME_RESET_MS = 10 * 60_000;
const SAME_CHANGE_MS = 12 * 3_600_000;
const UNDO_MS = 24 * 3_600_000;
/** A counter below this share of its limit after a fall belongs to a new filter. */
const FRESH_SHARE = 0.05;

export interface FilterChange {
  readonly installed_at: number;
  readonly source: "plc_reset" | "technician" | "service";
  /** The instant was inferred over a gap. */
  readonly flagged: boolean;
  /** Time of a person's entry; absent: the PLC reported the change. */
  readonly entered_at?: number;
}

/**
 * Returns each change of a filter of this type once, from reset buttons, counters that restarted, and people's entries.
 */
export const changesOf = perLog((log, type): readonly FilterChange[] => {
  const filter = type as FilterType;
  const restarts = findRestarts(log);
  const buttons = coilEdges(log, filter).map((at): Reset => ({ known_at: at, ...reset(at, false) }));
  const resets = once([...buttons, ...counterResets(log, filter, restarts)].sort(byTime));
  const inputs = log.filter_inputs.filter((input) => input.filter === filter);
  const standing: Standing[] = [];
  const told = [
    ...resets.map((change) => ({ at: change.known_at, tell: () => tellReset(standing, change) })),
    ...inputs.map((input) => ({ at: input.entered_at, tell: () => tellEntry(standing, input) })),
    ...inputs.map((input) => ({ at: input.withdrawn_at ?? Infinity, tell: () => withdraw(standing, input) })),
  ];
  for (const { at, tell } of told.sort((a, b) => a.at - b.at)) if (Number.isFinite(at)) tell();
  return standing.sort(byTime);
});

/** A reset with the instant at which it became known. */
interface Reset extends FilterChange {
  readonly known_at: number;
}

interface Standing extends FilterChange {
  readonly input?: FilterInput;
}

/** A technician's entry shortly before is the same change, at the PLC's instant. */
function tellReset(standing: Standing[], change: FilterChange): void {
  const last = standing.at(-1);
  const is_same = last?.source === "technician" && change.installed_at - last.installed_at <= SAME_CHANGE_MS;
  if (is_same) standing.pop();
  standing.push(change);
}

function tellEntry(standing: Standing[], input: FilterInput): void {
  const last = standing.at(-1);
  const { installed_at, source } = input;
  const since = last === undefined ? Infinity : installed_at - last.installed_at;
  if (last?.source === "plc_reset" && Math.abs(since) <= SAME_CHANGE_MS) return;
  if (since > SAME_RESET_MS)
    standing.push({ installed_at, source, flagged: false, entered_at: input.entered_at, input });
}

/** Withdraws an entry within a day, unless a later change has replaced it. */
function withdraw(standing: Standing[], input: FilterInput): void {
  if ((input.withdrawn_at ?? Infinity) - input.entered_at > UNDO_MS) return;
  if (standing.at(-1)?.input === input) standing.pop();
}

function reset(installed_at: number, flagged: boolean): FilterChange {
  return { installed_at, source: "plc_reset", flagged };
}

function byTime(a: FilterChange, b: FilterChange): number {
  return a.installed_at - b.installed_at;
}

function once(resets: readonly Reset[]): Reset[] {
  const out: Reset[] = [];
  for (const entry of resets) {
    const last = out.at(-1);
    if (last === undefined || entry.installed_at - last.installed_at > SAME_RESET_MS) out.push(entry);
  }
  return out;
}

function counterResets(log: BoothLog, filter: FilterType, restarts: Restarts): Reset[] {
  return minuteTags(log, filter).flatMap((name) => {
    const good = minuteSamplesOf(log, name);
    return good.flatMap((sample, i) => {
      const before = good[i - 1];
      return before !== undefined && isReset(log, filter, { before, sample, restarts })
        ? [{ known_at: sample.time, ...placed(log, name, sample) }]
        : [];
    });
  });
}

/** Returns the tags that count this filter's minutes. */
export function minuteTags(log: BoothLog, filter: FilterType): string[] {
  return tagsOfRole(log, "filter_minutes")
    .filter(({ tag }) => tag.filter === filter)
    .map(({ name }) => name);
}

interface Fall {
  readonly before: Sample;
  readonly sample: Sample;
  readonly restarts: Restarts;
}

function isReset(log: BoothLog, filter: FilterType, { before, sample, restarts }: Fall): boolean {
  if (Number(sample.value) >= Number(before.value)) return false;
  const limit = parametersAt(log, sample.time)?.filters[filter]?.limits.minutes;
  if (limit !== undefined && Number(sample.value) >= FRESH_SHARE * limit) return false;
  return !lostMemory(restarts, before.time, sample.time);
}

/** Whether there is evidence of a restart for a fall between two readings. */
export function lostMemory(restarts: Restarts, from: number, to: number): boolean {
  return restarts.instants.some((at) => at > from && at <= to + MINUTE_MS);
}

/** Places a reset inside a gap: as long before the next reading as the counter shows, if that fits into the gap. */
function placed(log: BoothLog, name: string, sample: Sample): FilterChange {
  const parameters = parametersAt(log, sample.time);
  const group = parameters?.tags[name]?.group ?? "";
  const silence = sinceLastPoll(log.covers.get(group) ?? [], sample.time) ?? 0;
  if (silence <= bridgeMs(parameters, group)) return reset(sample.time, false);
  const used = Number(sample.value) * MINUTE_MS;
  return reset(used >= 0 && used <= silence ? sample.time - used : sample.time, true);
}
