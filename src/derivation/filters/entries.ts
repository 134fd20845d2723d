import { FILTER_TYPES, type FilterType } from "../../domain/booth.ts";
import type { FilterEntry } from "../../domain/entry.ts";
import type { FilterService, Stored, VoidRecord } from "../../domain/record.ts";
import type { EpochMs, Seq } from "../../domain/units.ts";
import { tagsWithRole } from "../parameters.ts";
import { changeSheet } from "../sheet.ts";
import type { DeriveState, EntryState, Fold, Installation } from "../state.ts";
import { DOUBLE_PRESS_MS, replaceFilter, SAME_CHANGE_MS, shareRecentUse, writeService } from "./changes.ts";
import { newInstallation, restoreWithoutEntry, UNDO_MS, withoutEntry } from "./installation.ts";
import { isOverLimit, startOveruse } from "./overuse.ts";

/** Number of entries kept in the state, some weeks of them. A client repeats an entry within minutes. */
const MAX_ENTRIES = 32;

/** Handles a person's entry of a filter change. A repeated entry has no effect. */
export function takeEntry(fold: Fold, { value, seq }: Stored<FilterService>): void {
  const { id, filter, source, by = "", ago_ms } = value;
  if (source !== "technician" && source !== "service") return;
  const { now } = fold.state.clock;
  const entries = (fold.state.entries ??= []);
  if (id !== undefined && entries.some((entry) => entry.id === id)) return;
  const installed_at = ago_ms === undefined ? Math.min(value.installed_at, now) : now - ago_ms;
  const outcome = enterService(fold, { ...value, installed_at }, seq);
  if (id === undefined) return;
  entries.push({ id, seq, filter, by, entered_at: now, installed_at, outcome });
  if (entries.length > MAX_ENTRIES) entries.shift();
}

/** Installs the new filter of an entry, unless the entry reports a change that is already known. */
function enterService(
  fold: Fold,
  { filter: type, installed_at, source, flagged }: FilterService["value"],
  seq: Seq,
): EntryState["outcome"] {
  const { filters, clock } = fold.state;
  const filter = filters[type];
  if (filter === undefined) return "not_fitted";
  const { current } = filter;
  const { now } = clock;
  const age = installed_at - current.installed_at;
  if (current.source === "plc_reset" && Math.abs(age) <= SAME_CHANGE_MS) return "same_change";
  const without_entry = withoutEntry(filter, now);
  if (current.source === "assumed" && age <= 0) {
    datePresent(fold, type, { installed_at, source, flagged });
  } else {
    if (age < 0) return "older";
    // Treats a second entry within a short time like a button that is pressed twice.
    if (current.source !== "assumed" && age <= DOUBLE_PRESS_MS) return "same_change";
    replaceFilter(fold, type, newInstallation(installed_at, source, { limits: current.limits, flagged }));
    // Assigns the counter's minutes since the change to the new filter, because the counter was not reset. The new filter uses the counter
    // from its next reading on, because the last logged reading may be too low by up to a deadband.
    current.counted_until = countedUntil(fold.state, type);
    shareRecentUse(fold.state, filter);
  }
  Object.assign(filter, { entry: { seq, at: now }, without_entry });
  return "entered";
}

/** Returns the time of the last poll of the filter's counter; now: the filter has no counter. */
function countedUntil({ parameters, groups, clock, bays }: DeriveState, type: FilterType): EpochMs {
  const [tag = ""] = tagsWithRole(parameters, "filter_minutes", type);
  const group = groups[parameters?.tags[tag]?.group ?? ""];
  if (group === undefined) return clock.now;
  if (group.boot === clock.boot) return clock.now - Math.max(0, clock.mono - group.to);
  const bay = bays.find(({ good_boot }) => good_boot === group.boot);
  return bay === undefined ? clock.now : Math.min(clock.now, bay.good_until + (group.to - bay.good_mono));
}

/**
 * Sets the installation time of the filter that was in at first contact, as a person stated it. Its use before first contact stays unknown.
 */
function datePresent(
  fold: Fold,
  type: FilterType,
  entered: Pick<Installation, "installed_at" | "source" | "flagged">,
): void {
  const { filters, clock } = fold.state;
  const filter = filters[type];
  if (filter === undefined) return;
  changeSheet(fold.state, type, entered.installed_at);
  const unused = { plc: null, overuse: [], overuse_in_use_ms: 0, overuse_cycles: 0 };
  filter.current = { ...filter.current, ...entered, known: true, ...unused };
  if (isOverLimit(filter.current, clock.now)) startOveruse(filter.current, clock.now);
  writeService(fold, type);
}

/** Undoes a person's entry if that is still possible. The filter before the entry then counts as never removed. */
export function undoEntry(fold: Fold, { value: { seq } }: VoidRecord): void {
  const { filters, clock } = fold.state;
  const type = FILTER_TYPES.find((one) => filters[one]?.entry?.seq === seq);
  const filter = type === undefined ? undefined : filters[type];
  if (type === undefined || !filter?.entry) return;
  const { installed_at } = filter.current;
  if (clock.now - filter.entry.at > UNDO_MS || !restoreWithoutEntry(filter)) return;
  changeSheet(fold.state, type, installed_at);
  if (filter.current.installed_at <= clock.now) writeService(fold, type);
  const entry = fold.state.entries?.find((one) => one.seq === seq);
  if (entry !== undefined) entry.outcome = "undone";
}

/** Returns the last entries of people and their outcomes, oldest first. `now`: corrected time. */
export function entriesOf({ entries = [], filters }: DeriveState, now: EpochMs): FilterEntry[] {
  return entries.map(({ seq, ...entry }) => {
    // Finds no filter after a reset by the PLC or another change, because the entry can't be undone then.
    const filter = Object.values(filters).find((one) => one.entry?.seq === seq);
    const end = (filter?.entry?.at ?? -Infinity) + UNDO_MS;
    return { ...entry, undo_until: now > end ? null : end };
  });
}

/** Returns the sequence number of the entry's record; undefined: the state has no entry with that id. */
export function seqOfEntry({ entries = [] }: DeriveState, id: EntryState["id"]): number | undefined {
  return entries.find((entry) => entry.id === id)?.seq;
}
