import type { Quality, TagValue } from "../domain/booth.ts";
import type { EpochMs, Milliseconds, TagName } from "../domain/units.ts";
import type { Placed, Reading } from "../domain/record.ts";
import type { Window } from "../store/port.ts";
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
  return latestReadingsBefore(source, before, tags).map(valueOf);
}

/** The readings that gave them. */
export function latestReadingsBefore(source: Source, before: EpochMs, tags: readonly TagName[]): Placed<Reading>[] {
  const found = new Map<TagName, Placed<Reading>>();
  let end = before;
  // The log is looked through backwards in growing steps: heartbeats make the first one enough nearly always.
  for (let look = FIRST_LOOK_MS; found.size < tags.length && end > 0; look *= 4) {
    const start = Math.max(0, end - look);
    const wanted = tags.filter((tag) => !found.has(tag));
    for (const reading of readings(source, { start, end }, wanted)) {
      if (reading.quality !== "bad") found.set(reading.tag, reading);
    }
    end = start;
  }
  return tags.flatMap((tag) => found.get(tag) ?? []);
}

function valueOf({ tag, value, time, quality }: Placed<Reading>): Value {
  return { tag, value, at: time, quality };
}

/** Readings of the tags in the window, bad ones among them, in log order. No tags: all. */
export function* history(source: Source, window: Window, tags: readonly TagName[]): Generator<Value> {
  for (const reading of readings(source, window, tags)) yield valueOf(reading);
}

function readings({ reader, stream }: Source, window: Window, tags: readonly TagName[]): Iterable<Placed<Reading>> {
  return reader.readings(stream, window, tags.length === 0 ? undefined : new Set(tags));
}

/** More than anybody pages through; all are found for each page, since the total is told. */
const MAX_READINGS = 500_000;

/** One page of the history's readings that have a value, `page` from 1, and how many all pages have. Only that page is held in memory. Throws a RangeError for too many readings. */
export function historyPage(
  source: Source,
  window: Window,
  ask: { readonly tags: readonly TagName[]; readonly page: number; readonly limit: number },
) {
  const first = (ask.page - 1) * ask.limit;
  const values: Value[] = [];
  let total = 0;
  for (const value of history(source, window, ask.tags)) {
    if (value.quality === "bad") continue;
    if (total >= first && values.length < ask.limit) values.push(value);
    total += 1;
    if (total > MAX_READINGS)
      throw new RangeError(`too many readings: at most ${MAX_READINGS}; take a shorter window or fewer tags`);
  }
  return { values, total };
}
