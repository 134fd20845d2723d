import type { Quality, TagValue } from "./booth.ts";
import type { LogRecord } from "./record.ts";
import type { BootId, EpochMs, Milliseconds, StreamId, TagName, TakeNumber } from "./units.ts";

/** What the poll loop has taken but no commit holds yet. */
export type TakenEntry = TakenPoll | TakenRecord;

/** One poll. Answered: `changes` are the readings that the change filter let through (often none). */
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

/** `source_at` where the device told when it took the value. */
export type TakenChange = readonly [tag: TagName, value: TagValue, quality: Quality, source_at?: EpochMs];

/** A record that isn't a poll: clock, parameters, a technician's entry, an event. */
export interface TakenRecord {
  readonly kind: "record";
  readonly take: TakeNumber;
  readonly stream: StreamId;
  readonly record: LogRecord;
}
