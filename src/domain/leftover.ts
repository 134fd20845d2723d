import type { TakenEntry } from "./taken.ts";
import type { BootId, Milliseconds, StreamId, TakeNumber } from "./units.ts";

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
 * What of a tail no commit holds yet. By the takes' numbers; where the store has lost its count, by what the log itself holds: a commit
 * takes in everything up to an instant.
 */
export function uncommitted(tail: readonly TakenEntry[], { stream, last_take, end }: Committed): readonly TakenEntry[] {
  const isHeld = (entry: TakenEntry): boolean => {
    const { boot, mono } = entry.kind === "poll" ? entry : entry.record;
    return end !== null && boot === end.boot && mono <= end.mono;
  };
  const own = tail.filter((entry) => entry.stream === stream && entry.take > last_take);
  return last_take === 0 ? own.filter((entry) => !isHeld(entry)) : own;
}
