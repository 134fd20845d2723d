import type { Milliseconds } from "../domain/units.ts";
import { monotonicMs } from "../monotonic.ts";

/** A reader that takes nothing for so long has gone, or means harm: its stream ends. A phone on a weak network pauses for seconds. */
export const STALLED_MS: Milliseconds = 30_000;
/** How often streams are looked at. */
const LOOK_EVERY_MS: Milliseconds = 2_000;
/** A reader that has taken nothing for so long has to make room for a new one. A busy machine needs a second to hand bytes over. */
export const HESITATES_MS: Milliseconds = 2_000;

/** The time and the timer by which streams are watched; a test has its own. */
export interface Watch {
  readonly mono: () => Milliseconds;
  /** Repeats the act until the function that it returns is called. */
  readonly repeat: (act: () => void) => () => void;
}

export const WATCH: Watch = {
  mono: monotonicMs,
  repeat: (act) => {
    const timer = setInterval(act, LOOK_EVERY_MS).unref();
    return () => clearInterval(timer);
  },
};

/** How a stream's reader gets on: bytes that it has not taken, and when it last took some. */
export interface Reading {
  unread: number;
  /** Bytes of the connection that the kernel has taken. */
  flushed: number;
  took_at: Milliseconds;
}

/**
 * Notes how much is unread now. A reader takes something if all is read, if less is unread than before, or if the kernel took bytes of
 * its connection: a long answer is unread as a whole until its last byte is taken.
 */
export function noteReading(
  reading: Reading,
  { unread, flushed }: Pick<Reading, "unread" | "flushed">,
  now: number,
): void {
  if (unread === 0 || unread < reading.unread || flushed > reading.flushed) reading.took_at = now;
  reading.unread = unread;
  reading.flushed = flushed;
}

/** The one of these that has stalled longest, and for longer than that; undefined: none. */
export function longestStalled<T extends { readonly took_at: Milliseconds }>(
  readers: Iterable<T>,
  { now, over_ms }: { readonly now: Milliseconds; readonly over_ms: Milliseconds },
): T | undefined {
  let found: T | undefined;
  for (const reader of readers) {
    if (now - reader.took_at >= over_ms && (found === undefined || reader.took_at < found.took_at)) found = reader;
  }
  return found;
}
