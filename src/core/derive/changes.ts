import type { FilterType } from "../types/booth.ts";
import { FILTER_TYPES } from "../types/booth.ts";
import type { FilterService, VoidRecord } from "../types/record.ts";
import type { EpochMs, Milliseconds, Seq } from "../types/units.ts";
import { pushService, replaceFilter } from "./filters.ts";
import { sharePressure } from "./pressure.ts";
import { recentMs } from "./recent.ts";
import type { Installation } from "./installation.ts";
import type { DeriveState, EntryState, FilterState, Fold } from "./state.ts";
import { absorb, changeLimits, isOverLimit, newInstallation, runningEpisode, startOveruse } from "./usage.ts";

/** A filter counter that falls below this share of its limit was reset on purpose. */
const RESET_SHARE = 0.05;
/** Two resets or entries within this are one change. */
const DOUBLE_PRESS_MS: Milliseconds = 10 * 60_000;
/** A PLC reset and a technician's entry this close are one change. */
const SAME_CHANGE_MS: Milliseconds = 12 * 3_600_000;
/** A technician's entry can be undone this long. */
export const UNDO_MS: Milliseconds = 24 * 3_600_000;
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
  if (was_reset && filter.awaits_fall) {
    filter.awaits_fall = false;
    filter.current.plc = { offset: 0, value: minutes };
  } else if (was_reset && resetFilter(fold, reading.type, changeInstant(reading, now))) {
    filter.current.plc = { offset: 0, value: minutes };
  } else followCounter(filter.current, minutes, reading.fell);
  if (isOverLimit(filter.current, now)) startOveruse(filter.current, now, !reading.seen);
}

function followCounter(filter: Installation, minutes: number, fell: boolean): void {
  const own = filter.in_use_ms / MINUTE_MS;
  // What the PLC counted before first contact belongs to the filter that was in; a known one starts from our count.
  if (filter.plc === null) filter.plc = { offset: filter.known ? own - minutes : 0, value: minutes };
  else filter.plc = { offset: filter.plc.offset + (fell ? filter.plc.value - minutes : 0), value: minutes };
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
  const counter = filter.current.plc;
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
  filter.last_reset = now;
  const { current, former } = filter;
  // The entry came first: the change is dated by the PLC, so the old filter was in until now.
  if (current.source === "technician" && former !== null && at - current.installed_at <= SAME_CHANGE_MS) {
    restoreFormer(filter, former, now);
  }
  // What the PLC says of a change can't be withdrawn by the entry before it.
  filter.entry = null;
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
  if (at < current.installed_at) {
    if (current.source !== "assumed") return "older";
    datePresent(fold, value.filter, { installed_at: at, source: value.source, flagged: value.flagged });
    filter.entry = { seq, at: now };
    return "entered";
  }
  // Entered twice: like a button pressed twice.
  if (current.source !== "assumed" && at - current.installed_at <= DOUBLE_PRESS_MS) return "same_change";
  const next = newInstallation(at, value.source, { limits: current.limits, flagged: value.flagged });
  replaceFilter(fold, value.filter, next);
  shareRecentUse(fold.state, filter);
  // The counter wasn't reset: what it showed since the change belongs to the new filter, which it follows from its next
  // reading on, as what was read last may be a deadband old.
  if (current.plc !== null) {
    current.plc = { offset: current.plc.offset - next.in_use_ms / MINUTE_MS, value: current.plc.value };
  }
  filter.entry = { seq, at: now };
  return "entered";
}

/** The filter that was there at first contact went in before it: now somebody says when. Its use before that stays unknown. */
function datePresent(
  fold: Fold,
  type: FilterType,
  told: Pick<Installation, "installed_at" | "source" | "flagged">,
): void {
  const filter = fold.state.filters[type];
  if (filter === undefined) return;
  const { current } = filter;
  const own = current.in_use_ms / MINUTE_MS;
  const plc = current.plc === null ? null : { offset: own - current.plc.value, value: current.plc.value };
  filter.former = unused(current);
  // Nothing came out: that one is kept for the case that the entry is withdrawn.
  filter.reported = true;
  filter.current = { ...current, ...told, known: true, plc, overuse: [], overuse_in_use_ms: 0, overuse_cycles: 0 };
  if (isOverLimit(filter.current, fold.state.clock.now)) startOveruse(filter.current, fold.state.clock.now);
  pushService(fold, type, { installation: filter.current, maintenance: null });
}

/** The same without what it has been used here: absorbing that again gives what it was. */
function unused(filter: Installation): Installation {
  const { in_use_ms, cycles, plc, installed_at } = filter;
  const runs = runningEpisode(filter) !== null;
  return {
    ...filter,
    removed_at: installed_at,
    in_use_ms: 0,
    spray_ms: 0,
    cycles: 0,
    plc: plc === null ? null : { offset: plc.offset - in_use_ms / MINUTE_MS, value: plc.value },
    overuse: filter.overuse.map((episode) => ({ ...episode })),
    overuse_in_use_ms: filter.overuse_in_use_ms - (runs ? in_use_ms : 0),
    overuse_cycles: filter.overuse_cycles - (runs ? cycles : 0),
    pressure: { ...filter.pressure, drops: [] },
  };
}

/** A technician's entry is withdrawn: the filter before it never came out. False: it can't be withdrawn any more. */
export function undoService(fold: Fold, { value }: VoidRecord): boolean {
  for (const type of FILTER_TYPES) {
    const filter = fold.state.filters[type];
    if (filter === undefined || filter.former === null || filter.entry === null) continue;
    if (filter.entry.seq !== value.seq || fold.state.clock.now - filter.entry.at > UNDO_MS) continue;
    restoreFormer(filter, filter.former, fold.state.clock.now);
    pushService(fold, type, { installation: filter.current, maintenance: null });
    return true;
  }
  return false;
}

function restoreFormer(filter: FilterState, former: Installation, now: EpochMs): void {
  const { limits } = filter.current;
  absorb(former, filter.current);
  filter.current = former;
  filter.former = null;
  filter.entry = null;
  filter.reported = false;
  changeLimits(former, limits, now);
}

/** A change dated back takes the use since then from the old filter to the new one. */
function shareRecentUse(state: DeriveState, filter: FilterState): void {
  const { current, former } = filter;
  if (former === null || state.parameters === null) return;
  const at = current.installed_at;
  const in_use = recentMs(state, state.parameters.mode_sets.in_use, at);
  const spray = recentMs(state, ["spray"], at);
  const cycles = state.recent.ends.filter((end) => end > at).length;
  const episode = runningEpisode(former);
  if (episode !== null) {
    former.overuse_in_use_ms -= recentMs(state, state.parameters.mode_sets.in_use, Math.max(at, episode.since));
    former.overuse_cycles -= state.recent.ends.filter((end) => end > Math.max(at, episode.since)).length;
    if (episode.since >= at) former.overuse.pop();
  }
  sharePressure(former, current);
  former.in_use_ms -= in_use;
  former.spray_ms -= spray;
  former.cycles -= cycles;
  current.in_use_ms += in_use;
  current.spray_ms += spray;
  current.cycles += cycles;
}
