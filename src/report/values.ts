import type { Quality, TagValue } from "../core/types/booth.ts";
import type { EpochMs, TagName } from "../core/types/units.ts";
import type { Window } from "../ports.ts";
import { stateOf, type Source } from "./source.ts";

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

/** Readings of the tags in the window, in log order. No tags: all. */
export function* history(source: Source, window: Window, tags: readonly TagName[]): Generator<Value> {
  const asked = new Set(tags);
  for (const { kind, tag, value, time, quality } of source.reader.log(source.stream, window)) {
    if (kind === "r" && (asked.size === 0 || asked.has(tag))) yield { tag, value, at: time, quality };
  }
}
