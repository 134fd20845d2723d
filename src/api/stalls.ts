import { monotonicMs } from "../monotonic.ts";
import type { Milliseconds } from "../domain/units.ts";

/** A reader that takes nothing for this long is gone or hostile: its stream ends. A phone on a weak network pauses for seconds. */
export const STALLED_MS: Milliseconds = 30_000;
/** Interval of looks at the streams. */
const LOOK_EVERY_MS: Milliseconds = 2_000;
/** A reader that takes nothing for this long gives its place to a new one. A busy machine needs a second to deliver bytes. */
const HESITATES_MS: Milliseconds = 2_000;

/** The clock and timer for watching streams; a test passes its own. */
export interface Watch {
  readonly mono: () => Milliseconds;
  /** Calls `act` repeatedly until the returned function is called. */
  readonly repeat: (act: () => void) => () => void;
}

export const WATCH: Watch = {
  mono: monotonicMs,
  repeat: (act) => {
    const timer = setInterval(act, LOOK_EVERY_MS).unref();
    return () => clearInterval(timer);
  },
};

/** The progress of a stream's reader. */
export interface Reading {
  /** Bytes that the reader has not taken yet. */
  unread: number;
  /** Bytes of the connection that the kernel has taken. */
  flushed: number;
  /** When the reader last took bytes. */
  took_at: Milliseconds;
}

/**
 * Updates a reader's progress. It takes something if nothing is unread, if less is unread than before, or if the kernel took bytes of
 * its connection: a long answer is unread as a whole until its last byte is taken.
 */
export function noteReading(
  reading: Reading,
  { unread, flushed }: Pick<Reading, "unread" | "flushed">,
  now: Milliseconds,
): void {
  if (unread === 0 || unread < reading.unread || flushed > reading.flushed) reading.took_at = now;
  reading.unread = unread;
  reading.flushed = flushed;
}

/** Places for all senders together, and for each one. */
export interface Places {
  readonly total: number;
  readonly each: number;
}

interface Holder {
  readonly sender: string;
  /** When its reader last took bytes; -Infinity: it is idle. */
  readonly took_at: Milliseconds;
}

/**
 * Returns the holder that gives its place to a newcomer: null if there is room, "nobody" if the newcomer is rejected. If the
 * newcomer's share or the whole is full, the one leaves that has taken nothing for longest, of that sender or else of all. If all are
 * being read, the oldest of the sender with most places leaves, provided that it has more than the newcomer: bytes that the kernels
 * of both sides hold look as if they were read.
 */
export function leaverFor<T extends Holder>(
  newcomer: string,
  holders: readonly T[],
  { total, each, now }: Places & { readonly now: Milliseconds },
): T | "nobody" | null {
  const senders = Map.groupBy(holders, ({ sender }) => sender);
  const own = senders.get(newcomer) ?? [];
  if (own.length < each && holders.length < total) return null;
  const crowds = own.length >= each ? [own] : [...senders.values()].sort((a, b) => b.length - a.length);
  const stalled = crowds
    .flat()
    .filter(({ took_at }) => now - took_at >= HESITATES_MS)
    .sort((a, b) => a.took_at - b.took_at || 0);
  const [largest = []] = crowds;
  return stalled[0] ?? (largest.length > own.length ? largest[0] : undefined) ?? "nobody";
}
