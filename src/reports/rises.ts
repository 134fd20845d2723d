import { countOf } from "../derivation/counters.ts";
import { maxRateOf } from "../domain/counter-rates.ts";
import type { EpochMs, TagName } from "../domain/units.ts";
import type { Window } from "../store/port.ts";
import { stateOf, type Source } from "./source.ts";
import { latestReadingsBefore } from "./values.ts";

/**
 * What the meter's good readings in the span rose by, each against the one before, however long the booth was silent in between. A fall
 * or a jump counts as it did when it was booked: as a wrap, a reset or nothing.
 */
export function risesIn(source: Source, tag: TagName, span: Window): { readonly at: EpochMs; readonly rise: number }[] {
  const { parameters } = stateOf(source);
  const own = parameters?.tags[tag];
  if (parameters === null || own?.counter === undefined) return [];
  const counting = { restarted: false, counter: own.counter, max_rate_per_h: maxRateOf(own, parameters) };
  const rises: { at: EpochMs; rise: number }[] = [];
  let [before] = latestReadingsBefore(source, span.start, [tag]);
  for (const record of source.reader.log(source.stream, span, new Set([tag]))) {
    if (record.kind !== "r" || record.quality === "bad") continue;
    if (before !== undefined) {
      const [previous, next] = [Number(before.value), Number(record.value)];
      // Where a clock was put back time stands still for a while, and a counter goes on.
      const elapsed_ms = before.boot === record.boot ? record.mono - before.mono : record.time - before.time;
      rises.push({ at: record.time, rise: countOf({ previous, next, elapsed_ms, ...counting }).delta });
    }
    before = record;
  }
  return rises;
}
