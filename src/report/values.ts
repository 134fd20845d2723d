import type { Quality, TagValue } from "../core/types/booth.ts";
import type { EpochMs, Milliseconds, TagName } from "../core/types/units.ts";
import type { Window } from "../ports.ts";
import { stateOf, type Source } from "./source.ts";

/** How far back a value is looked for at first; each further look goes four times as far. */
const FIRST_LOOK_MS: Milliseconds = 3_600_000;

export interface Value {
  readonly tag: TagName;
  readonly value: TagValue;
  /** Corrected time of the reading that gave it. */
  readonly at: EpochMs;
  /** Of the last reading; bad: the value is the last known one. */
  readonly quality: Quality;
}

/** Last known value of each tag asked for; one that was never read is left out. No tags: all. */
export function latestValues(source: Source, tags: readonly TagName[]): Value[] {
  const { latest } = stateOf(source);
  const asked = tags.length === 0 ? Object.keys(latest) : tags;
  return asked.flatMap((tag) => {
    const known = latest[tag];
    return known === undefined || known.value === null ? [] : [{ tag, ...known }];
  });
}

/** The last value of each tag before an instant, from the log; one that has none there is left out. */
export function latestValuesBefore(source: Source, before: EpochMs, tags: readonly TagName[]): Value[] {
  const found = new Map<TagName, Value>();
  let end = before;
  // The log is looked through backwards in growing steps: heartbeats make the first one enough nearly always.
  for (let look = FIRST_LOOK_MS; found.size < tags.length && end > 0; look *= 4) {
    const start = Math.max(0, end - look);
    const wanted = tags.filter((tag) => !found.has(tag));
    for (const value of knownHistory(source, { start, end }, wanted)) found.set(value.tag, value);
    end = start;
  }
  return tags.flatMap((tag) => found.get(tag) ?? []);
}

/** Readings of the tags in the window that have a value, in log order. No tags: all. */
function* knownHistory(source: Source, window: Window, tags: readonly TagName[]): Generator<Value> {
  for (const value of history(source, window, tags)) if (value.quality !== "bad") yield value;
}

/** Readings of the tags in the window, bad ones among them, in log order. No tags: all. */
export function* history(source: Source, window: Window, tags: readonly TagName[]): Generator<Value> {
  const asked = tags.length === 0 ? undefined : new Set(tags);
  for (const { kind, tag, value, time, quality } of source.reader.log(source.stream, window, asked)) {
    if (kind === "r") yield { tag, value, at: time, quality };
  }
}

export interface HistoryPage {
  readonly values: readonly Value[];
  /** Readings of the window, over all pages. */
  readonly total: number;
}

/** One page of the history, `page` from 1. Only that page is held in memory. */
export function historyPage(
  source: Source,
  window: Window,
  ask: { readonly tags: readonly TagName[]; readonly page: number; readonly limit: number },
): HistoryPage {
  const first = (ask.page - 1) * ask.limit;
  const values: Value[] = [];
  let total = 0;
  for (const value of knownHistory(source, window, ask.tags)) {
    if (total >= first && values.length < ask.limit) values.push(value);
    total += 1;
  }
  return { values, total };
}
