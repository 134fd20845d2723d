import type { FilterLimits, FilterType } from "../../domain/booth.ts";
import type { FilterEntry } from "../../domain/entry.ts";
import type { FilterService } from "../../domain/record.ts";
import type { EpochMs, Milliseconds, Seq, TagName } from "../../domain/units.ts";
import type { RecentState } from "../hours.ts";
import type { SliceFold } from "../timeline/events.ts";
import type { DeepReadonly, Settled } from "../timeline/state.ts";
import { MINUTE_MS, DAY_MS } from "../../domain/time.ts";

/** What is remembered of the filters that are fitted. */
export interface FiltersState {
  filters: Partial<Record<FilterType, FilterState>>;
  /** Pressure drops and fan speeds by tag, as far back as the open spray stage needs them. */
  samples: Record<TagName, Sampled[]>;
  /** The scales by which pressure drops were converted to Pa; absent: 1. */
  pressure_scales?: Partial<Record<FilterType, number>>;
  /** The last entries of people, oldest first; absent: there was none yet. */
  entries?: EntryState[];
}

/** What the filters' slice works on: it looks at the last day and a half too. */
export type FiltersFold = SliceFold<FiltersState, RecentState>;

/** What a tag said from an instant on; null: nothing good. */
export type Sampled = [at: EpochMs, value: number | null];

/** A technician's entry, with what became of it. */
export interface EntryState {
  id: string;
  seq: Seq;
  filter: FilterType;
  by: string;
  entered_at: EpochMs;
  installed_at: EpochMs;
  outcome: FilterEntry["outcome"];
}

interface Episode {
  since: EpochMs;
  /** null: running. */
  until: EpochMs | null;
  /** It began while nothing was seen: `since` is the first good reading after that. */
  flagged: boolean;
}

/** Pressure drops of a filter's spray stages. */
export interface PressureState {
  /** Clean drop, Pa; null: not known yet. */
  baseline: number | null;
  /** The last three. */
  drops: { end: EpochMs; pascal: number }[];
}

export interface Installation {
  installed_at: EpochMs;
  removed_at: EpochMs | null;
  source: FilterService["value"]["source"];
  flagged: boolean;
  /** False: it was there at first contact, so what the booth did before is not known. */
  known: boolean;
  in_use_ms: Milliseconds;
  spray_ms: Milliseconds;
  cycles: number;
  limits: FilterLimits;
  /** When these came into force; absent: with the filter. */
  limits_from?: EpochMs;
  /** The PLC's own minutes: usage = offset + value. */
  plc: { offset: number; value: number } | null;
  /**
   * The counter was first read then, and `offset` holds our own time in use up to then, as far as that is settled: the rest is added as
   * it settles. Absent: it counts from its own beginning.
   */
  own_until?: EpochMs;
  /**
   * Its removal was entered by hand: what the PLC's counter showed between the removal and then, when it had last been polled, belongs to
   * the next filter. Absent: the counter was reset with it.
   */
  counted_until?: EpochMs;
  overuse: Episode[];
  overuse_in_use_ms: Milliseconds;
  overuse_cycles: number;
  pressure: PressureState;
}

/** A filter type's place: what is in it, and what was before. */
export interface FilterState {
  current: Installation;
  /** The one before, while its record may still change. */
  former: Installation | null;
  /** The former's maintenance record has been written. */
  reported: boolean;
  /** When the PLC last reported a change. */
  last_reset: EpochMs | null;
  /** The reset button was seen; its counter hasn't fallen yet. */
  awaits_fall: boolean;
  /** The technician's entry that made `current`; it can be undone. */
  entry: { seq: Seq; at: EpochMs } | null;
  /**
   * What all of this would be had that entry not been made; it takes in whatever comes, as this does. null: the entry can't be
   * taken back.
   */
  without_entry: FilterState | null;
}
const SPRAY = "spray";

/** A filter that goes in at `installed_at`. */
export function newInstallation(
  installed_at: EpochMs,
  source: Installation["source"],
  { limits, flagged }: { limits: FilterLimits; flagged: boolean },
): Installation {
  return {
    installed_at,
    removed_at: null,
    source,
    flagged,
    known: source !== "assumed",
    in_use_ms: 0,
    spray_ms: 0,
    cycles: 0,
    limits,
    plc: null,
    overuse: [],
    overuse_in_use_ms: 0,
    overuse_cycles: 0,
    pressure: { baseline: null, drops: [] },
  };
}

/** In-use minutes since installation: the PLC's where it counts them, else ours; null: not known. */
export function usedMinutes(filter: DeepReadonly<Installation>): number | null {
  if (filter.plc !== null) return filter.plc.offset + filter.plc.value;
  return filter.known ? filter.in_use_ms / MINUTE_MS : null;
}

export function runningEpisode(filter: Installation): Episode | null {
  const last = filter.overuse.at(-1);
  return last?.until === null ? last : null;
}

/** The start of the present or last overuse; null: none. */
export function overuseSince(filter: Installation): EpochMs | null {
  return filter.overuse.at(-1)?.since ?? null;
}

/** `flagged`: the limit was reached while nothing was seen. */
export function startOveruse(filter: Installation, since: EpochMs, flagged = false): void {
  if (runningEpisode(filter) === null) filter.overuse.push({ since, until: null, flagged });
}

/**
 * Adds settled time to the filter, clipped to the time it was in. An own limit reached on the way starts overuse at
 * that instant; inside inferred time or time without data, at the first good reading after it
 * (time without data is in no mode, so that is where the next time begins).
 */
function useFilter(filter: Installation, time: Settled, in_use: boolean): void {
  const from = Math.max(time.from, filter.installed_at);
  const to = Math.min(time.to, filter.removed_at ?? Infinity);
  if (to <= from) return;
  if (time.mode !== "no_data") {
    const due = Math.min(dueByAge(filter), in_use ? dueByUse(filter, from) : Infinity);
    // A service at the very instant of the limit is on time.
    const reached = due < to || (due === to && filter.removed_at !== to);
    if (reached) startOveruse(filter, time.inferred ? to : Math.max(due, from), time.inferred || due < from);
  }
  if (!in_use) return;
  filter.in_use_ms += to - from;
  settleOffset(filter, { from, to });
  if (time.mode === SPRAY) filter.spray_ms += to - from;
  const episode = runningEpisode(filter);
  if (episode !== null) filter.overuse_in_use_ms += Math.max(0, to - Math.max(from, episode.since));
}

/** Cycles counted at an instant. */
export type Count = readonly [at: EpochMs, cycles: number];

/** The time, and the cycles counted in it, in the order of time: each is in overuse or not as it stood then. */
export function useCounting(
  filter: Installation,
  { time, in_use, counts }: { readonly time: Settled; readonly in_use: boolean; readonly counts: readonly Count[] },
): void {
  let { from } = time;
  // Of inferred time nobody knows what came first: what it reaches begins at its end.
  for (const count of time.inferred ? [] : counts) {
    const [at] = count;
    if (at > from) useFilter(filter, { ...time, from, to: at }, in_use);
    addCycles(filter, count);
    from = Math.max(from, at);
  }
  useFilter(filter, from === time.from ? time : { ...time, from }, in_use);
  for (const count of time.inferred ? counts : []) addCycles(filter, count);
}

/** Cycles counted while the filter was in. */
export function addCycles(filter: Installation, [at, cycles]: Count): void {
  filter.cycles += cycles;
  const episode = filter.overuse.findLast(({ since }) => since < at);
  if (episode !== undefined && at <= (episode.until ?? Infinity)) filter.overuse_cycles += cycles;
  const { limits, known, removed_at } = filter;
  if (limits.cycles === undefined || !known || filter.cycles < limits.cycles || removed_at === at) return;
  const reached = Math.max(at, filter.limits_from ?? 0);
  const running = runningEpisode(filter);
  // A counter in the PLC may have shown another limit reached a little later, before this much of the time was settled.
  if (running === null) startOveruse(filter, reached);
  else running.since = Math.min(running.since, reached);
}

/** Own time of before the counter was first read, which is final only now. */
function settleOffset(filter: Installation, { from, to }: Pick<Settled, "from" | "to">): void {
  const { plc, own_until = from } = filter;
  const ms = Math.min(to, own_until) - from;
  if (plc === null || ms <= 0) return;
  filter.plc = { offset: plc.offset + ms / MINUTE_MS, value: plc.value };
  if (isOverLimit(filter, own_until)) startOveruse(filter, own_until);
}

/** What the PLC counted between a removal and the entry of it isn't the old filter's. `time`: settled time in use. */
export function takeOff(filter: Installation, time: Settled): void {
  const { removed_at, plc, counted_until = 0 } = filter;
  if (removed_at === null || plc === null) return;
  const ms = Math.min(time.to, counted_until) - Math.max(time.from, removed_at);
  if (ms > 0) filter.plc = { offset: plc.offset - ms / MINUTE_MS, value: plc.value };
}

function dueByAge(filter: Installation): EpochMs {
  const { days } = filter.limits;
  return days === undefined || !filter.known ? Infinity : filter.installed_at + days * DAY_MS;
}

/** With a counter in the PLC its readings decide from the first one on; otherwise our own time does. */
function dueByUse(filter: Installation, from: EpochMs): EpochMs {
  const { minutes } = filter.limits;
  if (minutes === undefined || !filter.known) return Infinity;
  const due = from + Math.max(0, Math.ceil(minutes * MINUTE_MS - filter.in_use_ms));
  return filter.plc !== null && due >= (filter.own_until ?? 0) ? Infinity : due;
}

/** Limits that stand by themselves, judged at `at`: minutes and cycles used, and age. */
export function isOverLimit(filter: Installation, at: EpochMs): boolean {
  if (at < filter.installed_at) return false;
  const minutes = usedMinutes(filter);
  const { limits } = filter;
  // A counter's decimal steps aren't exact in binary; a millionth of a minute is no time.
  if (limits.minutes !== undefined && minutes !== null && minutes >= limits.minutes - 1e-6) return true;
  if (limits.cycles !== undefined && filter.known && filter.cycles >= limits.cycles) return true;
  return isOverPressure(filter) || dueByAge(filter) <= at;
}

/** Share of the limit that is nearest, 1: reached; by minutes, cycles or age; null: there is none, or its use isn't known. */
export function usedShare(filter: Installation, at: EpochMs): number | null {
  const { limits, known, cycles, installed_at } = filter;
  const minutes = usedMinutes(filter);
  const shares = [
    limits.minutes === undefined || minutes === null ? null : minutes / limits.minutes,
    limits.cycles === undefined || !known ? null : cycles / limits.cycles,
    limits.days === undefined || !known ? null : (at - installed_at) / (limits.days * DAY_MS),
  ].filter((share) => share !== null);
  return shares.length === 0 ? null : Math.max(...shares);
}

/** The last two spray stages were both over the clean drop by more than the limit. */
export function isOverPressure({ limits, pressure }: Installation): boolean {
  const { baseline } = pressure;
  const [one, two] = pressure.drops.slice(-2);
  if (limits.pressure_pa === undefined || baseline === null || one === undefined || two === undefined) return false;
  return Math.min(one.pascal, two.pascal) > baseline + limits.pressure_pa;
}

/** Limits change: at or over the new ones overuse starts now; under them a running episode ends now. */
export function changeLimits(filter: Installation, limits: FilterLimits, at: EpochMs): void {
  if (JSON.stringify(limits) !== JSON.stringify(filter.limits)) filter.limits_from = at;
  filter.limits = limits;
  const episode = runningEpisode(filter);
  if (isOverLimit(filter, at)) startOveruse(filter, at);
  else if (episode !== null) episode.until = at;
}

/** Length of all overuse up to the removal, and up to `at` where the filter is still in. */
export function overuseMs(filter: Installation, at: EpochMs): Milliseconds {
  const end = filter.removed_at ?? at;
  return filter.overuse.reduce((sum, { since, until }) => sum + Math.max(0, Math.min(until ?? end, end) - since), 0);
}

/** A technician's entry can be undone this long. */
export const UNDO_MS: Milliseconds = 24 * 3_600_000;
/** Entries in a row that can be taken back, the last one first: nobody errs more often in a day. */
const MAX_KEPT = 4;

/** The filter as it is, then as it would be had its last entry not been made, then without the last two: all go on side by side. */
export function withAndWithout(filter: FilterState | undefined): FilterState[] {
  const all: FilterState[] = [];
  for (let one = filter ?? null; one !== null; one = one.without_entry) all.push(one);
  return all;
}

/** What the filter would be without the entry that is about to be made at `now`. */
export function withoutEntry(filter: FilterState, now: EpochMs): FilterState {
  const copy = JSON.parse(JSON.stringify(filter)) as FilterState;
  if (copy.entry === null || now - copy.entry.at > UNDO_MS) copy.without_entry = null;
  const deepest = withAndWithout(copy)[MAX_KEPT - 1];
  if (deepest !== undefined) deepest.without_entry = null;
  // The entry has the filter before reported, if that is still to be done.
  copy.reported = true;
  return copy;
}

/** The entry that put the present filter in never was. False: what would be without it isn't kept. */
export function takeBack(filter: FilterState): boolean {
  const { without_entry } = filter;
  if (without_entry === null) return false;
  Object.assign(filter, { without_entry: null }, without_entry);
  return true;
}
