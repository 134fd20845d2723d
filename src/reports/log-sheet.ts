import { FILTER_TYPES, type FilterType } from "../domain/booth.ts";
import { type FilterDayFact, type FilterService, KIND, type LabelRecord, type Stored } from "../domain/record.ts";
import { HOUR_MS } from "../domain/time.ts";
import type { EpochMs } from "../domain/units.ts";
import type { Window } from "../store/port.ts";
import { changesOf } from "./filters.ts";
import { type Source, stateOf } from "./source.ts";

/** Time within which a text belongs to a change, as for an entry and the PLC's reset. */
const SAME_CHANGE_MS = 12 * HOUR_MS;

export type FilterDay = FilterDayFact["value"];

/** A day of the log sheet. */
export interface SheetDay extends Pick<FilterDay, "day" | "start" | "end" | "use_ms" | "spray_ms" | "no_data_ms"> {
  readonly filters: readonly FilterDay[];
}

/** A change of a filter, with the text that a person gave. */
export interface SheetChange {
  readonly filter: FilterType;
  readonly at: EpochMs;
  readonly source: FilterService["value"]["source"];
  /** Id of the text; null: no person entered a text. */
  readonly id: string | null;
  readonly part_number: string;
  readonly note: string;
  /** Earlier texts that a person has corrected, oldest first. */
  readonly corrected: readonly Pick<LabelRecord["value"], "part_number" | "note">[];
  readonly removed: { readonly use_ms: number; readonly overuse_ms: number } | null;
}

/** Returns the days that start in the window and on which the booth was in use or not observed, and the changes of filters in the window. */
export function logSheet(source: Source, window: Window) {
  const filters = FILTER_TYPES.filter((type) => stateOf(source).parameters?.filters[type] !== undefined);
  return {
    filters,
    days: daysIn(source, window),
    changes: FILTER_TYPES.flatMap((type) => changesIn(source, window, type)),
  };
}

function daysIn({ reader, stream }: Source, window: Window): SheetDay[] {
  const facts = reader
    .facts(stream, KIND.filterDay, window)
    .filter(({ value }) => value.start >= window.start)
    .sort((a, b) => a.seq - b.seq);
  // The facts that were last written for a day and filter count. Facts of one writing have the same instant.
  const days = new Map<string, { newest: Stored<FilterDayFact>; all: FilterDay[] }>();
  for (const fact of facts) {
    const { day, filter } = fact.value;
    const known = days.get(`${day} ${filter}`);
    const isSame = known?.newest.boot === fact.boot && known.newest.mono === fact.mono;
    days.set(`${day} ${filter}`, { newest: fact, all: isSame ? [...known.all, fact.value] : [fact.value] });
  }
  const byDay = Map.groupBy(
    [...days.values()].flatMap(({ all }) => all),
    ({ day }) => day,
  );
  return [...byDay.values()]
    .flatMap((filters) => {
      const [first] = filters;
      if (first === undefined) return [];
      const { day, start, end, use_ms, spray_ms, no_data_ms } = first;
      const order = (one: FilterDay): number => FILTER_TYPES.indexOf(one.filter);
      const sorted = filters.sort((a, b) => order(a) - order(b) || a.installed_at - b.installed_at);
      return { day, start, end, use_ms, spray_ms, no_data_ms, filters: sorted };
    })
    .sort((a, b) => a.start - b.start);
}

function changesIn(source: Source, window: Window, type: FilterType): SheetChange[] {
  const { reader, stream } = source;
  const labels = reader
    .facts(stream, KIND.label, { start: window.start - SAME_CHANGE_MS, end: window.end + SAME_CHANGE_MS })
    .filter(({ value }) => value.filter === type)
    .sort((a, b) => a.seq - b.seq);
  const changes = changesOf(source, type).filter(({ value }) => value.source !== "assumed");
  return changes.flatMap(({ value: { source: by, installed_at: at, maintenance } }) => {
    if (at < window.start || at >= window.end) return [];
    const near = labels.filter(({ value }) => Math.abs(value.installed_at - at) <= SAME_CHANGE_MS);
    const text = near.at(-1)?.value;
    const corrected = near
      .filter(({ value }) => value.id === text?.id)
      .slice(0, -1)
      .map(({ value: { part_number, note } }) => ({ part_number, note }));
    const removed = maintenance ? { use_ms: maintenance.booth_in_use_ms, overuse_ms: maintenance.overuse_ms } : null;
    const { id = null, part_number = "", note = "" } = text ?? {};
    return { filter: type, at, source: by, id, part_number, note, corrected, removed };
  });
}
