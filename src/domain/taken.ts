import type { Quality, TagValue } from "./booth.ts";
import type { LogRecord } from "./record.ts";
import type { BootId, EpochMs, Milliseconds, StreamId, TagName, TakeNumber } from "./units.ts";

/** An entry that the poll loop has taken and that no commit holds yet. */
export type TakenEntry = TakenPoll | TakenRecord;

/** A poll. If answered, `changes` are the readings that passed the change filter (often none). */
export interface TakenPoll {
  readonly kind: "poll";
  readonly take: TakeNumber;
  readonly stream: StreamId;
  readonly boot: BootId;
  readonly mono: Milliseconds;
  readonly at: EpochMs;
  readonly group: string;
  readonly answered: boolean;
  readonly changes: readonly TakenChange[];
}

/** The new value of a tag, with the device's own time for it if the device gives one. */
export type TakenChange = readonly [tag: TagName, value: TagValue, quality: Quality, source_at?: EpochMs];

/** A record other than a poll: clock, parameters, a technician's entry, an event. */
interface TakenRecord {
  readonly kind: "record";
  readonly take: TakeNumber;
  readonly stream: StreamId;
  readonly record: LogRecord;
}

/** The value of one tag in one poll. A tag that could not be read has value null, quality bad and a reason. */
export interface Sample {
  readonly tag: TagName;
  readonly value: TagValue;
  readonly quality: Quality;
  readonly reason?: string;
  /** Time of the value by the device's clock. Stored in addition to ours, only for the check of clock skew. */
  readonly source_at?: EpochMs;
}

/** The last instant of a log. */
export interface LogEnd {
  readonly boot: BootId;
  readonly mono: Milliseconds;
}

/** How far a log was committed. */
export interface Committed {
  readonly stream: StreamId;
  /** 0: nothing was, or a damaged store doesn't know. */
  readonly last_take: TakeNumber;
  /** null: the log is empty. */
  readonly end: LogEnd | null;
}

/**
 * Returns the entries of a tail that no commit holds, by their take numbers. If the store has lost its count, entries up to the end
 * of the log count as committed, because a commit includes everything up to an instant.
 */
export function uncommitted(tail: readonly TakenEntry[], { stream, last_take, end }: Committed): readonly TakenEntry[] {
  const isHeld = (entry: TakenEntry): boolean => {
    const { boot, mono } = entry.kind === "poll" ? entry : entry.record;
    return end !== null && boot === end.boot && mono <= end.mono;
  };
  const own = tail.filter((entry) => entry.stream === stream && entry.take > last_take);
  return last_take === 0 ? own.filter((entry) => !isHeld(entry)) : own;
}
