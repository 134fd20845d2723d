import type { Quality, TagValue } from "../domain/booth.ts";
import { HOUR_MS } from "../domain/time.ts";
import type { EpochMs, Milliseconds, TagName } from "../domain/units.ts";
import type { Placed, Reading } from "../domain/record.ts";
import type { Window } from "../store/port.ts";
import { stateOf, type Source } from "./source.ts";

/** Length of the first search back in time for a value. Each further search is four times as long. */
const FIRST_SEARCH_MS: Milliseconds = HOUR_MS;

export interface Value {
  readonly tag: TagName;
  readonly value: TagValue;
  /** Corrected time of the reading with this value. */
  readonly at: EpochMs;
  /** Quality of the last reading. If it is bad, the value is the last known one. */
  readonly quality: Quality;
}

/** Returns the last known value of each tag, or of all tags if none are given. Omits tags that were never read. */
export function latestValues(source: Source, tags: readonly TagName[]): Value[] {
  const { latest } = stateOf(source);
  const asked = tags.length === 0 ? Object.keys(latest) : tags;
  return asked.flatMap((tag) => {
    const known = latest[tag];
    return known === undefined || known.value === null ? [] : [{ tag, ...known }];
  });
}

/** Returns the last value of each tag before an instant, from the log. Omits tags without a value. */
export function latestValuesBefore(source: Source, before: EpochMs, tags: readonly TagName[]): Value[] {
  return latestReadingsBefore(source, before, tags).map(valueOf);
}

/** Returns the last good reading of each tag before an instant. */
export function latestReadingsBefore(source: Source, before: EpochMs, tags: readonly TagName[]): Placed<Reading>[] {
  const found = new Map<TagName, Placed<Reading>>();
  let end = before;
  // Searches backwards in growing steps. The first step nearly always suffices, because unchanged values are logged again at least hourly.
  for (let length = FIRST_SEARCH_MS; found.size < tags.length && end > 0; length *= 4) {
    const start = Math.max(0, end - length);
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

/**
 * Yields the readings of the tags in the window, including bad readings, in log order. If no tags are given, yields the readings of all
 * tags.
 */
export function* history(source: Source, window: Window, tags: readonly TagName[]): Generator<Value> {
  for (const reading of readings(source, window, tags)) yield valueOf(reading);
}

function readings({ reader, stream }: Source, window: Window, tags: readonly TagName[]): Iterable<Placed<Reading>> {
  return reader.readings(stream, window, tags.length === 0 ? undefined : new Set(tags));
}

/** Maximum number of readings for one request. Each page reads all of them, because the answer includes the total. */
const MAX_READINGS = 500_000;

/**
 * Returns one page of the readings that have a value, and the total number over all pages. `page` counts from 1. Only that page is held in
 * memory. Throws a RangeError if there are too many readings.
 */
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
