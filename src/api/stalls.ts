import { monotonicMs } from "../monotonic.ts";
import type { Milliseconds } from "../domain/units.ts";

/**
 * Time after which a reader that receives nothing is considered gone or hostile, and its stream is ended. A phone on a weak network may
 * pause for seconds.
 */
export const STALLED_MS: Milliseconds = 30_000;
/** Interval at which the streams are checked. */
const LOOK_EVERY_MS: Milliseconds = 2_000;
/**
 * Time after which a reader that receives nothing can lose its place to a newcomer. A busy machine needs up to a second to deliver bytes.
 */
const HESITATES_MS: Milliseconds = 2_000;

/** The clock and timer used to watch streams. Tests pass their own. */
export interface Watch {
  readonly mono: () => Milliseconds;
  /** Calls `action` at an interval until the returned function is called. */
  readonly repeat: (action: () => void) => () => void;
}

export const WATCH: Watch = {
  mono: monotonicMs,
  repeat: (action) => {
    const timer = setInterval(action, LOOK_EVERY_MS).unref();
    return () => clearInterval(timer);
  },
};

/** How far a client has read a stream. */
export interface Reading {
  /** Bytes that the reader has not received yet. */
  unread: number;
  /** Bytes of the connection that the kernel has accepted. */
  flushed: number;
  /** Time when the reader last received bytes. */
  took_at: Milliseconds;
}

/**
 * Updates a reader's progress. A reader makes progress if nothing is unread or less is unread than at the last check, or if the kernel
 * accepted bytes of its connection. The last case is needed because a long answer counts as unread until its last byte is sent.
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

/** Maximum number of places for all senders together, and for each sender. */
export interface Places {
  readonly total: number;
  readonly each: number;
}

interface Holder {
  readonly sender: string;
  /** Time when its reader last received bytes; -Infinity: it is idle. */
  readonly took_at: Milliseconds;
}

/**
 * Returns the holder that loses its place to a newcomer, null if a place is free, or "nobody" if the newcomer is rejected.
 *
 * If the newcomer's sender has used its share, only its own holders are considered, or else all. The holder that has stalled for longest
 * leaves. If none has stalled, the oldest holder of the sender with the most places leaves, provided that this sender has more places than
 * the newcomer's. That holder may have stalled too, because bytes in the kernels' buffers look as if they were received.
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
