import type { Mode } from "../core/types/booth.ts";
import { MODES_BY_PRIORITY } from "../core/types/booth.ts";
import type { EpochMs } from "../core/types/units.ts";
import type { BoothStage, Window } from "../ports.ts";

/** Grown by doubling, from about a month of a busy booth. */
const FIRST_ROOM = 8_192;

interface Columns {
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly uncertain_ms: Float64Array;
  /** Index in MODES_BY_PRIORITY, plus NEW_START. */
  readonly mode: Uint8Array;
}

const NEW_START = 128;

/** A booth's closed stages in memory, 25 bytes each: 73,000 of a year are looked through in milliseconds. */
export interface StageColumns {
  add(stage: BoothStage): void;
  /** Stages that overlap or touch the window, by start. */
  within(window: Window): BoothStage[];
}

export function stageColumns(): StageColumns {
  let columns = room(FIRST_ROOM);
  let count = 0;
  return {
    add(stage) {
      if (count === columns.start.length) columns = grown(columns);
      let at = count;
      // A stage that replaces another one comes later than its place.
      while (at > 0 && (columns.start[at - 1] ?? 0) > stage.start) at -= 1;
      if (at < count) shift(columns, at, count);
      columns.start[at] = stage.start;
      columns.end[at] = stage.end;
      columns.uncertain_ms[at] = stage.uncertain_ms;
      columns.mode[at] = MODES_BY_PRIORITY.indexOf(stage.mode) + (stage.is_new_start ? NEW_START : 0);
      count += 1;
    },
    within(window) {
      const found: BoothStage[] = [];
      for (let at = firstEndingAt(columns.end, count, window.start); at < count; at += 1) {
        if ((columns.start[at] ?? 0) >= window.end) break;
        found.push(stageAt(columns, at));
      }
      return found;
    },
  };
}

function stageAt({ start, end, uncertain_ms, mode }: Columns, at: number): BoothStage {
  const code = mode[at] ?? 0;
  return {
    mode: MODES_BY_PRIORITY[code % NEW_START] ?? ("unknown" satisfies Mode),
    start: start[at] ?? 0,
    end: end[at] ?? 0,
    is_new_start: code >= NEW_START,
    uncertain_ms: uncertain_ms[at] ?? 0,
  };
}

/** Stages of a booth tile its time, so their ends are in order too. */
function firstEndingAt(end: Float64Array, count: number, at: EpochMs): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((end[middle] ?? 0) < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

function room(size: number): Columns {
  const column = (): Float64Array => new Float64Array(size);
  return { start: column(), end: column(), uncertain_ms: column(), mode: new Uint8Array(size) };
}

function grown(old: Columns): Columns {
  const fresh = room(2 * old.start.length);
  for (const name of ["start", "end", "uncertain_ms", "mode"] as const) fresh[name].set(old[name]);
  return fresh;
}

function shift({ start, end, uncertain_ms, mode }: Columns, from: number, to: number): void {
  for (const column of [start, end, uncertain_ms, mode]) column.copyWithin(from + 1, from, to);
}
