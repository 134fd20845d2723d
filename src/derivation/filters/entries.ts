import { tagsWithRole } from "../parameters.ts";
import { FILTER_TYPES, type FilterType } from "../../domain/booth.ts";
import type { FilterEntry } from "../../domain/entry.ts";
import type { FilterService, Stored, VoidRecord } from "../../domain/record.ts";
import type { EpochMs, Seq } from "../../domain/units.ts";
import {
  type EntryState,
  type FiltersFold,
  type FiltersState,
  type Installation,
  newInstallation,
  takeBack,
  UNDO_MS,
  withoutEntry,
} from "./installation.ts";
import { isOverLimit, startOveruse } from "./overuse.ts";
import { DOUBLE_PRESS_MS, SAME_CHANGE_MS, shareRecentUse, replaceFilter, pushService } from "./changes.ts";

/** Some weeks of them; whoever asks again does so within minutes. */
const MAX_ENTRIES = 32;

/** A person entered that a filter was changed. The same entry again changes nothing. */
export function takeEntry(fold: FiltersFold, record: Stored<FilterService>): void {
  const { value, seq } = record;
  if (value.source !== "technician" && value.source !== "service") return;
  const { now } = fold.seen.clock;
  const { id, filter, by = "", ago_ms } = value;
  const entries = (fold.own.entries ??= []);
  if (id !== undefined && entries.some((entry) => entry.id === id)) return;
  const installed_at = ago_ms === undefined ? Math.min(value.installed_at, now) : now - ago_ms;
  const outcome = enterService(fold, record, { seq, at: installed_at });
  if (id === undefined) return;
  entries.push({ id, seq, filter, by, entered_at: now, installed_at, outcome });
  if (entries.length > MAX_ENTRIES) entries.shift();
}

/** A person entered that a filter was changed at `at`. */
function enterService(
  fold: FiltersFold,
  { value }: FilterService,
  { seq, at }: { readonly seq: Seq; readonly at: EpochMs },
): EntryState["outcome"] {
  const filter = fold.own.filters[value.filter];
  if (filter === undefined) return "not_fitted";
  const { current } = filter;
  const { now } = fold.seen.clock;
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
  current.counted_until = countedUntil(fold.seen, value.filter);
  shareRecentUse(fold.seen, filter);
  Object.assign(filter, { entry: { seq, at: now }, without_entry });
  return "entered";
}

/** When the filter's counter was last polled; without one: now. */
function countedUntil({ parameters, groups, clock, bays }: FiltersFold["seen"], type: FilterType): EpochMs {
  const [tag = ""] = tagsWithRole(parameters, "filter_minutes", type);
  const group = groups[parameters?.tags[tag]?.group ?? ""];
  if (group === undefined) return clock.now;
  if (group.boot === clock.boot) return clock.now - Math.max(0, clock.mono - group.to);
  const bay = bays.find(({ good_boot }) => good_boot === group.boot);
  return bay === undefined ? clock.now : Math.min(clock.now, bay.good_until + (group.to - bay.good_mono));
}

/** The filter that was there at first contact went in before it: now somebody says when. Its use before that stays unknown. */
function datePresent(
  fold: FiltersFold,
  type: FilterType,
  told: Pick<Installation, "installed_at" | "source" | "flagged">,
): void {
  const filter = fold.own.filters[type];
  if (filter === undefined) return;
  const unused = { plc: null, overuse: [], overuse_in_use_ms: 0, overuse_cycles: 0 };
  filter.current = { ...filter.current, ...told, known: true, ...unused };
  if (isOverLimit(filter.current, fold.seen.clock.now)) startOveruse(filter.current, fold.seen.clock.now);
  pushService(fold, type, { installation: filter.current, maintenance: null });
}

/** An entry is withdrawn, if it still can be. */
export function undoEntry(fold: FiltersFold, record: VoidRecord): void {
  if (!undoService(fold, record)) return;
  const entry = fold.own.entries?.find(({ seq }) => seq === record.value.seq);
  if (entry !== undefined) entry.outcome = "undone";
}

/** A technician's entry is withdrawn: the filter before it never came out. False: it can't be withdrawn any more. */
function undoService(fold: FiltersFold, { value }: VoidRecord): boolean {
  for (const type of FILTER_TYPES) {
    const filter = fold.own.filters[type];
    if (filter === undefined || filter.entry?.seq !== value.seq) continue;
    const { now } = fold.seen.clock;
    if (now - filter.entry.at > UNDO_MS || !takeBack(filter)) return false;
    if (filter.current.installed_at <= now)
      pushService(fold, type, { installation: filter.current, maintenance: null });
    return true;
  }
  return false;
}

/** The last entries of people and what became of them, oldest first; `now`: corrected time. */
export function entriesOf(state: FiltersState, now: EpochMs): FilterEntry[] {
  return (state.entries ?? []).map(({ seq, ...entry }) => ({ ...entry, undo_until: undoUntil(state, seq, now) }));
}

/** Seq of the record that made the entry; undefined: none of that name is known. */
export function seqOfEntry({ entries = [] }: FiltersState, id: EntryState["id"]): number | undefined {
  return entries.find((entry) => entry.id === id)?.seq;
}

/** An entry that the PLC's own reset came after, or another change, stands. */
function undoUntil({ filters }: FiltersState, seq: number, now: EpochMs): EpochMs | null {
  const entry = Object.values(filters).find((filter) => filter.entry?.seq === seq)?.entry ?? null;
  return entry === null || now > entry.at + UNDO_MS ? null : entry.at + UNDO_MS;
}
