import { FILTER_TYPES, type FilterType } from "../domain/booth.ts";
import type { FilterService, VoidRecord } from "../domain/record.ts";
import type { EpochMs, Milliseconds, Seq } from "../domain/units.ts";
import { pushService, replaceFilter } from "./filters.ts";
import { isIn } from "./modes.ts";
import { sharePressure } from "./pressure.ts";
import { recentMs } from "./recent.ts";
import { tagWithRole } from "./roles.ts";
import type { FilterState, Installation } from "./installation.ts";
import type { DeriveState, EntryState, Fold } from "./state.ts";
import {
  addCycles,
  isOverLimit,
  newInstallation,
  runningEpisode,
  startOveruse,
  takeOff,
  useCounting,
  type Count,
} from "./usage.ts";
import { takeBack, UNDO_MS, withAndWithout, withoutEntry } from "./without-entry.ts";

/** A filter counter that falls below this share of its limit was reset on purpose. */
const RESET_SHARE = 0.05;
/** Two resets or entries within this are one change. */
const DOUBLE_PRESS_MS: Milliseconds = 10 * 60_000;
/** A PLC reset and a technician's entry this close are one change. */
const SAME_CHANGE_MS: Milliseconds = 12 * 3_600_000;
const MINUTE_MS = 60_000;

/** A new value of the PLC's own minutes of a filter. */
export interface MinutesReading {
  readonly type: FilterType;
  readonly minutes: number;
  /** The reading before was good and is this old at most: the fall happened just now. */
  readonly seen: boolean;
  /** Last instant before, at which the counter was known. */
  readonly known_until: EpochMs;
  readonly fell: boolean;
  /** The PLC lost its memory: not a change. */
  readonly lost: boolean;
}

/** Follows a filter's counter: a fall is a change, a loss of memory, or unexplained; then our usage goes on. */
export function readMinutes(fold: Fold, reading: MinutesReading): void {
  const filter = fold.state.filters[reading.type];
  if (filter === undefined) return;
  const { now } = fold.state.clock;
  const { minutes } = reading;
  const limit = filter.current.limits.minutes;
  const was_reset = reading.fell && !reading.lost && limit !== undefined && minutes < RESET_SHARE * limit;
  const is_change = was_reset && !filter.awaits_fall && resetFilter(fold, reading.type, changeInstant(reading, now));
  for (const one of withAndWithout(filter)) {
    if (is_change || (was_reset && one.awaits_fall)) {
      one.awaits_fall = false;
      one.current.plc = { offset: 0, value: minutes };
    } else followCounter(one.current, reading, now);
    if (isOverLimit(one.current, now)) startOveruse(one.current, now, !reading.seen);
  }
}

function followCounter(filter: Installation, { minutes, fell }: MinutesReading, now: EpochMs): void {
  const { plc, known, in_use_ms } = filter;
  if (plc !== null) {
    filter.plc = { offset: plc.offset + (fell ? plc.value - minutes : 0), value: minutes };
    return;
  }
  // What the PLC counted before first contact belongs to the filter that was in; a known one starts from our count.
  filter.plc = { offset: known ? in_use_ms / MINUTE_MS - minutes : 0, value: minutes };
  if (known) filter.own_until = now;
}

/** A reset that happened unseen is dated back by what the counter has counted since, where that fits the gap. */
function changeInstant(reading: MinutesReading, now: EpochMs): ChangeInstant {
  if (reading.seen) return { at: now, flagged: false };
  const at = Math.round(now - reading.minutes * MINUTE_MS);
  return { at: at > reading.known_until ? at : now, flagged: true };
}

/** The PLC's reset button was pressed; the counter may fall with this poll or a later one. */
export function pressReset(fold: Fold, type: FilterType): void {
  const filter = fold.state.filters[type];
  if (filter === undefined) return;
  // After an entry the old filter's account may be the only one that the counter has been read for.
  const counter = withAndWithout(filter).find(({ current }) => current.plc !== null)?.current.plc ?? null;
  if (!resetFilter(fold, type, { at: fold.state.clock.now, flagged: false }) || counter === null) return;
  filter.current.plc = { offset: -counter.value, value: counter.value };
  filter.awaits_fall = true;
}

interface ChangeInstant {
  readonly at: EpochMs;
  readonly flagged: boolean;
}

/** The PLC says that its filter was changed. False: it is the same change as the last one. */
function resetFilter(fold: Fold, type: FilterType, { at, flagged }: ChangeInstant): boolean {
  const filter = fold.state.filters[type];
  if (filter === undefined) return false;
  const { now } = fold.state.clock;
  if (filter.last_reset !== null && now - filter.last_reset <= DOUBLE_PRESS_MS) return false;
  const { current } = filter;
  // The entry came first: the change is dated by the PLC, so the old filter was in until now.
  if (current.source === "technician" && at - current.installed_at <= SAME_CHANGE_MS) takeBack(filter);
  filter.last_reset = now;
  // What the PLC says of a change can't be withdrawn by the entry before it.
  filter.entry = null;
  filter.without_entry = null;
  replaceFilter(fold, type, newInstallation(at, "plc_reset", { limits: filter.current.limits, flagged }));
  shareRecentUse(fold.state, filter);
  return true;
}

/** A person entered that a filter was changed at `at`. */
export function enterService(
  fold: Fold,
  { value }: FilterService,
  { seq, at }: { readonly seq: Seq; readonly at: EpochMs },
): EntryState["outcome"] {
  const filter = fold.state.filters[value.filter];
  if (filter === undefined) return "not_fitted";
  const { current } = filter;
  const { now } = fold.state.clock;
  if (current.source === "plc_reset" && Math.abs(at - current.installed_at) <= SAME_CHANGE_MS) return "same_change";
  if (current.source === "assumed" && at <= current.installed_at) {
    const without_entry = withoutEntry(filter, now);
    datePresent(fold, value.filter, { installed_at: at, source: value.source, flagged: value.flagged });
    Object.assign(filter, { entry: { seq, at: now }, without_entry });
    return "entered";
  }
  if (at < current.installed_at) return "older";
  // Entered twice: like a button pressed twice.
  if (current.source !== "assumed" && at - current.installed_at <= DOUBLE_PRESS_MS) return "same_change";
  const without_entry = withoutEntry(filter, now);
  const next = newInstallation(at, value.source, { limits: current.limits, flagged: value.flagged });
  replaceFilter(fold, value.filter, next);
  // The counter wasn't reset: what it showed since the change belongs to the new filter, which it follows from its next
  // reading on, as what was read last may be a deadband old.
  current.counted_until = countedUntil(fold.state, value.filter);
  shareRecentUse(fold.state, filter);
  Object.assign(filter, { entry: { seq, at: now }, without_entry });
  return "entered";
}

/** When the filter's counter was last polled; without one: now. */
function countedUntil({ parameters, groups, clock, bays }: DeriveState, type: FilterType): EpochMs {
  const tag = Object.values(parameters?.tags ?? {}).find(
    ({ role, filter }) => role === "filter_minutes" && filter === type,
  );
  const group = groups[tag?.group ?? ""];
  if (group === undefined) return clock.now;
  if (group.boot === clock.boot) return clock.now - Math.max(0, clock.mono - group.to);
  const bay = bays.find(({ good_boot }) => good_boot === group.boot);
  return bay === undefined ? clock.now : Math.min(clock.now, bay.good_until + (group.to - bay.good_mono));
}

/** The filter that was there at first contact went in before it: now somebody says when. Its use before that stays unknown. */
function datePresent(
  fold: Fold,
  type: FilterType,
  told: Pick<Installation, "installed_at" | "source" | "flagged">,
): void {
  const filter = fold.state.filters[type];
  if (filter === undefined) return;
  const unused = { plc: null, overuse: [], overuse_in_use_ms: 0, overuse_cycles: 0 };
  filter.current = { ...filter.current, ...told, known: true, ...unused };
  if (isOverLimit(filter.current, fold.state.clock.now)) startOveruse(filter.current, fold.state.clock.now);
  pushService(fold, type, { installation: filter.current, maintenance: null });
}

/** A technician's entry is withdrawn: the filter before it never came out. False: it can't be withdrawn any more. */
export function undoService(fold: Fold, { value }: VoidRecord): boolean {
  for (const type of FILTER_TYPES) {
    const filter = fold.state.filters[type];
    if (filter === undefined || filter.entry?.seq !== value.seq) continue;
    const { now } = fold.state.clock;
    if (now - filter.entry.at > UNDO_MS || !takeBack(filter)) return false;
    if (filter.current.installed_at <= now)
      pushService(fold, type, { installation: filter.current, maintenance: null });
    return true;
  }
  return false;
}

/** A change dated back takes the use since then from the old filter to the new one. */
function shareRecentUse(state: DeriveState, filter: FilterState): void {
  const { current, former } = filter;
  if (former === null || state.parameters === null) return;
  const at = current.installed_at;
  const in_use = recentMs(state, state.parameters.mode_sets.in_use, at);
  const spray = recentMs(state, ["spray"], at);
  const counts = recentCounts(state).filter(([counted_at]) => counted_at > at);
  const episode = runningEpisode(former);
  if (episode !== null) {
    const since = Math.max(at, episode.since);
    former.overuse_in_use_ms -= recentMs(state, state.parameters.mode_sets.in_use, since);
    former.overuse_cycles -= sumOf(counts.filter(([counted_at]) => counted_at > since));
    if (episode.since >= at) former.overuse.pop();
  }
  sharePressure(former, current);
  former.in_use_ms -= in_use;
  former.spray_ms -= spray;
  former.cycles -= sumOf(counts);
  // Gone through anew, as a limit may have been reached on the way.
  for (const slice of state.recent.slices) {
    const is_used = isIn(state.parameters.mode_sets.in_use, slice.mode);
    if (is_used) takeOff(former, slice);
    const inside = counts.filter(([counted_at]) => counted_at >= slice.from && counted_at < slice.to);
    useCounting(current, { slice, in_use: is_used, counts: inside });
  }
  const settled = state.recent.slices.at(-1)?.to ?? 0;
  for (const count of counts) if (count[0] >= settled) addCycles(current, count);
}

/** Cycles that filters were told of lately. */
function recentCounts({ parameters, recent: { ends, increments, slices } }: DeriveState): readonly Count[] {
  if (tagWithRole(parameters, "cycle_counter") === undefined) return ends.map((end) => [end, 1]);
  const settled = slices.at(-1)?.to ?? 0;
  return increments.filter(([at]) => at < settled);
}

function sumOf(counts: readonly Count[]): number {
  return counts.reduce((sum, [, cycles]) => sum + cycles, 0);
}
