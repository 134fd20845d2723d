import { bridgeMs } from "../core/derive/coverage.ts";
import { loadsOf, workRate, type Load, type Machine } from "../core/derive/machines.ts";
import type { Parameters } from "../core/types/parameters.ts";
import type { Coverage, LogRecord, Placed } from "../core/types/record.ts";
import type { EpochMs, Milliseconds } from "../core/types/units.ts";
import type { Window } from "../ports.ts";
import type { Source } from "./source.ts";

/** A heartbeat is at most an hour old: the load that holds at a span's start stands there. */
const BEFORE_MS: Milliseconds = 3_600_000;

/** A steady stretch of a machine's work. */
interface Stretch {
  readonly start: EpochMs;
  readonly end: EpochMs;
  /** Per millisecond, as core/derive/machines.ts has it. */
  readonly rate: number;
}

interface Reach {
  readonly boot: string;
  to_mono: Milliseconds;
  to: EpochMs;
}

/**
 * What a machine did over the span, from the readings still in the log: as the fold counts it, so that the parts of an hour are
 * the hour. The parameters given hold until the log has others.
 */
export function stretchesIn(
  source: Source,
  span: Window,
  { machine, parameters }: { machine: Machine; parameters: Parameters },
): Stretch[] {
  const found: Stretch[] = [];
  let load: Load | null = loadsOf(parameters)[machine];
  let [rules, rate, mark] = [parameters, 0, span.start];
  let reach: Reach | null = null;
  const pass = (to: EpochMs): void => {
    const [start, end] = [Math.max(mark, span.start), Math.min(to, span.end)];
    if (end > start && rate > 0) found.push({ start, end, rate });
    mark = Math.max(mark, to);
  };
  // Past its end a span may be bridged by the next poll.
  const end = span.end + (load === null ? 0 : bridgeMs(parameters, load.group));
  for (const record of source.reader.log(source.stream, { start: span.start - BEFORE_MS, end })) {
    if (reach !== null) pass(Math.min(record.time, reach.to));
    if (record.kind === "p") {
      rules = record.value;
      load = loadsOf(rules)[machine];
      if (load === null) rate = 0;
    } else if (load !== null && record.kind === "h" && record.value.group === load.group && record.value.polls > 0) {
      if (reach === null || !goesOn(reach, record, bridgeMs(rules, load.group))) mark = Math.max(mark, record.time);
      reach = extended(record);
      pass(record.time);
    } else if (load !== null && record.kind === "r" && record.tag === load.tag) {
      rate = rateOf(record, machine, load.size);
    }
  }
  if (reach !== null) pass(reach.to);
  return found;
}

function goesOn(reach: Reach, { boot, value }: Placed<Coverage>, bridge: Milliseconds): boolean {
  return reach.boot === boot && value.from - reach.to_mono <= bridge;
}

function extended({ boot, time, value }: Placed<Coverage>): Reach {
  return { boot, to_mono: value.to, to: time + (value.to - value.from) };
}

function rateOf({ quality, value }: Extract<LogRecord, { kind: "r" }>, machine: Machine, size: number): number {
  return quality === "bad" || typeof value !== "number" ? 0 : workRate(machine, size, value);
}

/** Work before an instant. */
export function workUntil(stretches: readonly Stretch[], at: EpochMs): number {
  return stretches.reduce((sum, { start, end, rate }) => sum + rate * Math.max(0, Math.min(end, at) - start), 0);
}
