import type { Quality, TagValue } from "./booth.ts";
import type { LogRecord } from "./record.ts";
import type { BootId, EpochMs, Milliseconds, StreamId, TagName, TakeNumber } from "./units.ts";

/** A take: an entry of the poll loop in the tail file. It is not committed yet. */
export type TakenEntry = TakenPoll | TakenRecord;

/** A poll. If the PLC answered, `changes` are the readings that passed the change filter (often none). */
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

/** The new value of a tag, with the device's own time for this value if the device sends a time. */
export type TakenChange = readonly [tag: TagName, value: TagValue, quality: Quality, source_at?: EpochMs];

/** A record that isn't a poll: clock, parameters, a technician's entry, an event. */
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
  /** Time of the value by the device's clock. It is stored in addition to the gateway's time, only for checking clock skew. */
  readonly source_at?: EpochMs;
}

/** The boot and monotonic time of the last entry in a log. */
export interface LogEnd {
  readonly boot: BootId;
  readonly mono: Milliseconds;
}

/** The part of a log that is committed. */
export interface Committed {
  readonly stream: StreamId;
  /** Number of the last committed take (tail entry); 0: nothing is committed, or a damaged store has lost the number. */
  readonly last_take: TakeNumber;
  /** The last committed instant; null: the log is empty. */
  readonly end: LogEnd | null;
}

/**
 * Returns the takes (tail entries) that aren't committed, by their numbers. If the store has lost its number, takes up to the end of the
 * log count as committed. A commit includes all takes up to an instant.
 */
export function uncommitted(tail: readonly TakenEntry[], { stream, last_take, end }: Committed): readonly TakenEntry[] {
  const isHeld = (entry: TakenEntry): boolean => {
    const { boot, mono } = entry.kind === "poll" ? entry : entry.record;
    return end !== null && boot === end.boot && mono <= end.mono;
  };
  const own = tail.filter((entry) => entry.stream === stream && entry.take > last_take);
  return last_take === 0 ? own.filter((entry) => !isHeld(entry)) : own;
}
