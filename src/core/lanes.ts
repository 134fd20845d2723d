import type { Milliseconds, Seq } from "./types/units.ts";

/** Fewer waiting records than this are soon gone: they stay in one lane, in seq order. */
const LEAST_BACKLOG = 2_000;
/** Backlog batches for each live one. */
const PER_LIVE = 3;

/**
 * In which order a log is sent. Two lanes, each in seq order: what is recorded now, and what waited while the service was
 * away. Without a backlog everything goes in the live lane.
 */
export interface Lanes {
  /** Sent last in the live lane. */
  readonly live_seq: Seq;
  /** From behind `seq` to `end`; null: none, or gone. */
  readonly backlog: { readonly seq: Seq; readonly end: Seq } | null;
  /** Backlog batches that may go before the next live one. */
  readonly credit: number;
  /** Mono before which no backlog batch goes, so that the rate holds. */
  readonly backlog_at: Milliseconds;
}

export type LaneName = "live" | "backlog";

export function oneLane(sent: Seq): Lanes {
  return { live_seq: sent, backlog: null, credit: 0, backlog_at: 0 };
}

/** From here on what is new goes before what waits, where much waits; `sendable_seq`: newest record that may be sent. */
export function withBacklog(lanes: Lanes, sendable_seq: Seq): Lanes {
  const isMuch = lanes.backlog === null && sendable_seq - lanes.live_seq >= LEAST_BACKLOG;
  if (!isMuch) return lanes;
  return { ...lanes, live_seq: sendable_seq, backlog: { seq: lanes.live_seq, end: sendable_seq } };
}

/** Whose turn it is; null: nobody's before something is recorded, or before `backlog_at`. */
export function nextLane(
  lanes: Lanes,
  at: { readonly sendable_seq: Seq; readonly mono: Milliseconds },
): LaneName | null {
  const isLive = lanes.live_seq < at.sendable_seq;
  const isBacklog = lanes.backlog !== null && at.mono >= lanes.backlog_at;
  if (isLive && (!isBacklog || lanes.credit === 0)) return "live";
  return isBacklog ? "backlog" : null;
}

/** A batch up to `to` was sent in that lane. `rate`: records of the backlog a second at most; null: as fast as acks come. */
export function withSent(
  lanes: Lanes,
  lane: LaneName,
  sent: { readonly to: Seq; readonly records: number; readonly mono: Milliseconds; readonly rate: number | null },
): Lanes {
  const { backlog } = lanes;
  if (lane === "live") return { ...lanes, live_seq: sent.to, credit: PER_LIVE };
  if (backlog === null) return lanes;
  const wait = sent.rate === null ? 0 : (sent.records / sent.rate) * 1000;
  return {
    ...lanes,
    backlog: sent.to >= backlog.end ? null : { ...backlog, seq: sent.to },
    credit: Math.max(0, lanes.credit - 1),
    backlog_at: sent.mono + wait,
  };
}
