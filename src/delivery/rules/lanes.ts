import type { Milliseconds, Seq } from "../../domain/units.ts";
import type { Placed } from "../../domain/record.ts";

/** Fewer waiting records than this are soon gone: they stay in one lane, in seq order. */
export const LEAST_BACKLOG = 2_000;
/** Backlog batches for each live one. */
const PER_LIVE = 3;

/** Records behind `seq`, up to `end`. */
interface Stretch {
  readonly seq: Seq;
  readonly end: Seq;
}

/**
 * In which order a log is sent. Three lanes, each in seq order: the context records (parameters and clocks) of what waited while the
 * service was away, without which nothing after them can be read; what is recorded now; and all that waited. Without a backlog
 * everything goes in the live lane.
 */
export interface Lanes {
  /** Sent last in the live lane. */
  readonly live_seq: Seq;
  /** null: none, or gone. */
  readonly context: Stretch | null;
  /** null: none, or gone. The context records in it go once more. */
  readonly backlog: Stretch | null;
  /** Of the backlog, what goes record by record where the rest goes in chunks: no chunk holds it, or the service doesn't take that. */
  readonly by_record: readonly Stretch[];
  /** Backlog batches that may go before the next live one. */
  readonly credit: number;
  /** Mono before which no backlog batch goes, so that the rate holds. */
  readonly backlog_at: Milliseconds;
}

export type LaneName = "context" | "live" | "backlog";

export function oneLane(sent: Seq): Lanes {
  return { live_seq: sent, context: null, backlog: null, by_record: [], credit: 0, backlog_at: 0 };
}

/** From here on what is new goes before what waits, where `least` do or more; `sendable_seq`: newest record that may be sent. */
export function withBacklog(lanes: Lanes, sendable_seq: Seq, least = LEAST_BACKLOG): Lanes {
  const isMuch = lanes.backlog === null && sendable_seq - lanes.live_seq >= least;
  if (!isMuch) return lanes;
  const waiting = { seq: lanes.live_seq, end: sendable_seq };
  return { ...lanes, live_seq: sendable_seq, context: waiting, backlog: waiting };
}

/** Whose turn it is; null: nobody's before something is recorded, or before `backlog_at`. `full`: lanes whose next one has no room. */
export function nextLane(
  lanes: Lanes,
  at: {
    readonly sendable_seq: Seq;
    readonly mono: Milliseconds;
    readonly full?: Readonly<Record<LaneName, boolean>>;
  },
): LaneName | null {
  const { full = { context: false, live: false, backlog: false } } = at;
  if (lanes.context !== null) return full.context ? null : "context";
  const isLive = lanes.live_seq < at.sendable_seq && !full.live;
  const isBacklog = hasBacklog(lanes) && at.mono >= lanes.backlog_at && !full.backlog;
  if (isLive && (!isBacklog || lanes.credit === 0)) return "live";
  return isBacklog ? "backlog" : null;
}

/** Something of what waited isn't sent yet. */
export function hasBacklog({ backlog, by_record }: Lanes): boolean {
  return backlog !== null || by_record.length > 0;
}

/** The stretch that the lane has before it; null: none. */
export function stretchOf(lanes: Lanes, lane: LaneName, sendable_seq: Seq): Stretch | null {
  if (lane === "live") return { seq: lanes.live_seq, end: sendable_seq };
  return lane === "backlog" ? (lanes.by_record[0] ?? lanes.backlog) : lanes.context;
}

/** A stretch of the backlog, its next one or one that was sent already, is to go record by record. */
export function goesByRecord(lanes: Lanes, stretch: Stretch): Lanes {
  const { backlog, by_record } = lanes;
  const isNext = backlog !== null && backlog.seq < stretch.end;
  return {
    ...lanes,
    by_record: [...by_record, stretch],
    backlog: isNext ? behind(backlog, stretch.end) : backlog,
  };
}

/** A batch up to `to` was sent in that lane. `rate`: records of the backlog a second at most; null: as fast as acks come. */
export function withSent(
  lanes: Lanes,
  lane: LaneName,
  sent: { readonly to: Seq; readonly records: number; readonly mono: Milliseconds; readonly rate: number | null },
): Lanes {
  const { context, backlog } = lanes;
  if (lane === "live") return { ...lanes, live_seq: sent.to, credit: PER_LIVE };
  if (lane === "context") return { ...lanes, context: behind(context, sent.to) };
  if (!hasBacklog(lanes)) return lanes;
  const wait = sent.rate === null ? 0 : (sent.records / sent.rate) * 1000;
  const isOf = ({ seq, end }: Stretch): boolean => seq < sent.to && sent.to <= end;
  const isByRecord = lanes.by_record.some(isOf);
  return {
    ...lanes,
    by_record: lanes.by_record.flatMap((stretch) => (isOf(stretch) ? (behind(stretch, sent.to) ?? []) : stretch)),
    backlog: isByRecord ? backlog : behind(backlog, sent.to),
    credit: Math.max(0, lanes.credit - 1),
    backlog_at: sent.mono + wait,
  };
}

function behind(stretch: Stretch | null, seq: Seq): Stretch | null {
  return stretch === null || seq >= stretch.end ? null : { ...stretch, seq };
}

/**
 * What a batch aims at before gzip, by a rough reckoning: some 2,400 readings, 8 KB when zipped. With four under way that fills a
 * line of 1 Mbit/s and 100 ms; beyond it, zipping gains little. A batch may be 128 KiB long.
 */
const TARGET_BYTES = 48 * 1024;
/** Kind, tag index and time of one record in its columns. */
const RECORD_BYTES = 16;

/**
 * Cuts records, in seq order, into batches: each unbroken in seq, of one boot and one clock offset (so that times follow
 * from the first), within the size limits. A record larger than the target is a batch alone. A hole in seq starts a new batch.
 */
export function cutBatches(records: readonly Placed[]): readonly (readonly Placed[])[] {
  const batches: Placed[][] = [];
  let bytes = 0;
  for (const record of records) {
    const size = RECORD_BYTES + lengthOf(record.value);
    const batch = batches.at(-1);
    const last = batch?.at(-1);
    if (batch !== undefined && last !== undefined && belongs(last, record) && bytes + size <= TARGET_BYTES) {
      batch.push(record);
      bytes += size;
    } else {
      batches.push([record]);
      bytes = size;
    }
  }
  return batches;
}

function lengthOf(value: unknown): number {
  return typeof value === "number" ? String(value).length : JSON.stringify(value).length;
}

function belongs(last: Placed, next: Placed): boolean {
  return next.seq === last.seq + 1 && next.boot === last.boot && next.time - next.mono === last.time - last.mono;
}
