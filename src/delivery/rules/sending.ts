import { message, type Text } from "../../domain/message.ts";
import type { Placed } from "../../domain/record.ts";
import type { Milliseconds, Seq } from "../../domain/units.ts";
import type { BatchOutcome, Rejection } from "../port.ts";
import { type Held, NOTHING_HELD } from "./held.ts";
import type { RefusedRecord } from "./refusals.ts";

/** Acked ranges of a log: everything up to `acked_seq`, and ranges after a record that isn't acked yet. */
export interface Cursor {
  readonly acked_seq: Seq;
  readonly ahead: readonly AckedRange[];
}

type AckedRange = readonly [from: Seq, to: Seq];

/** Adds acked ranges. The cursor moves over all that follow without a hole. A range at or below the cursor changes nothing. */
export function withAcked(cursor: Cursor, ...ranges: readonly AckedRange[]): Cursor {
  let acked_seq = cursor.acked_seq;
  const ahead: AckedRange[] = [];
  for (const range of [...cursor.ahead, ...ranges].sort((a, b) => a[0] - b[0])) {
    const last = ahead.at(-1);
    if (range[0] <= acked_seq + 1) acked_seq = Math.max(acked_seq, range[1]);
    // Joins ranges, so that a record that waits for long doesn't leave a range for each batch after it.
    else if (last !== undefined && range[0] <= last[1] + 1) ahead.splice(-1, 1, [last[0], Math.max(last[1], range[1])]);
    else ahead.push(range);
  }
  return { acked_seq, ahead };
}

/** Returns the end of the acked range that begins right after `seq`, or else the end of what can be sent from there; at most `end`. */
export function openStretch(
  { passed }: Pick<Sending, "passed">,
  seq: Seq,
  end: Seq,
): { readonly acked_to: Seq | null; readonly end: Seq } {
  if (seq < passed.acked_seq) return { acked_to: Math.min(passed.acked_seq, end), end };
  const next = passed.ahead.find(([, to]) => to > seq);
  if (next === undefined) return { acked_to: null, end };
  const [from, to] = next;
  return from <= seq + 1 ? { acked_to: Math.min(to, end), end } : { acked_to: null, end: Math.min(end, from - 1) };
}

/** With fewer waiting records everything stays in one lane, in seq order, because they are sent soon. */
export const LEAST_BACKLOG = 2_000;
/** Backlog batches sent for each live one. */
const BACKLOG_PER_LIVE = 3;

/** Records after `seq`, up to `end`. */
interface Stretch {
  readonly seq: Seq;
  readonly end: Seq;
}

/**
 * The order in which a log is sent: three lanes, each in seq order. context: the parameter and clock records of the backlog, without
 * which nothing after them can be read. live: what is recorded now. backlog: everything that waited while the service was away. Without
 * a backlog all records go in the live lane.
 */
export interface Lanes {
  /** Newest record sent in the live lane. */
  readonly live_seq: Seq;
  /** Parameter and clock records still to be sent; null: none. */
  readonly context: Stretch | null;
  /** Backlog still to be sent, including its context records; null: none. */
  readonly backlog: Stretch | null;
  /** Parts of the backlog that are sent in batches while the rest is sent in chunks: no chunk holds them, or the service refused it. */
  readonly by_record: readonly Stretch[];
  /** Backlog batches that may be sent before the next live one. */
  readonly credit: number;
  /** Mono before which no backlog batch is sent, to keep to the rate. */
  readonly backlog_at: Milliseconds;
}

export type LaneName = "context" | "live" | "backlog";

const NO_LANE_FULL: Readonly<Record<LaneName, boolean>> = { context: false, live: false, backlog: false };

/** Returns the lane that sends next; null: none before something is recorded or before `backlog_at`. `full`: lanes that must not send. */
export function nextLane(
  lanes: Lanes,
  { sendable_seq, mono }: { readonly sendable_seq: Seq; readonly mono: Milliseconds },
  full = NO_LANE_FULL,
): LaneName | null {
  if (lanes.context !== null) return full.context ? null : "context";
  const isLive = lanes.live_seq < sendable_seq && !full.live;
  const isBacklog = hasBacklog(lanes) && mono >= lanes.backlog_at && !full.backlog;
  if (isLive && (!isBacklog || lanes.credit === 0)) return "live";
  return isBacklog ? "backlog" : null;
}

function hasBacklog({ backlog, by_record }: Lanes): boolean {
  return backlog !== null || by_record.length > 0;
}

/** Returns the stretch that a lane sends next; null: none. */
export function stretchOf(lanes: Lanes, lane: LaneName, sendable_seq: Seq): Stretch | null {
  if (lane === "live") return { seq: lanes.live_seq, end: sendable_seq };
  return lane === "backlog" ? (lanes.by_record[0] ?? lanes.backlog) : lanes.context;
}

/** A batch that is being sent. `rate`: most backlog records per second; null: as fast as acks come. */
interface SentBatch {
  readonly to: Seq;
  readonly records: number;
  readonly mono: Milliseconds;
  readonly rate: number | null;
}

/** Returns the sending after a batch up to `to` was sent in a lane. */
export function afterSending(sending: Sending, lane: LaneName, sent: SentBatch): Sending {
  return { ...sending, lanes: lanesAfter(sending.lanes, lane, sent) };
}

function lanesAfter(lanes: Lanes, lane: LaneName, { to, records, mono, rate }: SentBatch): Lanes {
  const { context, backlog } = lanes;
  if (lane === "live") return { ...lanes, live_seq: to, credit: BACKLOG_PER_LIVE };
  if (lane === "context") return { ...lanes, context: restAfter(context, to) };
  if (!hasBacklog(lanes)) return lanes;
  const holds = ({ seq, end }: Stretch): boolean => seq < to && to <= end;
  return {
    ...lanes,
    by_record: lanes.by_record.flatMap((stretch) => (holds(stretch) ? (restAfter(stretch, to) ?? []) : stretch)),
    backlog: lanes.by_record.some(holds) ? backlog : restAfter(backlog, to),
    credit: Math.max(0, lanes.credit - 1),
    backlog_at: mono + (rate === null ? 0 : (records / rate) * 1000),
  };
}

function restAfter(stretch: Stretch | null, seq: Seq): Stretch | null {
  return stretch === null || seq >= stretch.end ? null : { ...stretch, seq };
}

/**
 * Whether the service may hold records that this store doesn't know. After an old copy of the store was put back, the service holds
 * records of a future that this store never had. Records after the first difference must not arrive there under the same name. So
 * batches are sent one at a time and in order until the service's newest record was sent, or is offered once more as a `probe` and
 * turns out to be the same here.
 */
type Ahead = { readonly kind: "unknown" | "yes" | "no" } | { readonly kind: "probe"; readonly seq: Seq };

/**
 * Records for which no outcome came before their session ended. The service or the broker may fail at one of them. So they are sent in
 * smaller and smaller batches, one session after the other, until one record is sent alone.
 */
export interface Silence {
  readonly from: Seq;
  readonly to: Seq;
  /** Most of them in one batch, next time. */
  readonly limit: number;
}

/**
 * The sending of one stream in one session, as pure data: what is acked, what is sent next, and what the service is suspected of.
 *
 * `sendingFrom` begins it at the stored cursor. `nextAction` decides what to do, `afterSending` notes what was sent, `verdictOf` takes an
 * outcome in and says what it means. `passed` runs ahead of `cursor` over the records that wait for another offer; the lanes skip what it
 * covers. The cursor itself never passes a record that isn't acked. A session ends with the first batch without an outcome; `silence`
 * then goes into the next sending.
 */
export interface Sending {
  readonly cursor: Cursor;
  /** The cursor if each waiting record were acked: the lanes skip what it covers. */
  readonly passed: Cursor;
  readonly lanes: Lanes;
  readonly ahead: Ahead;
  /** Whether the size of the backlog was checked; a large one has a lane of its own. */
  readonly is_split: boolean;
  /** null: the last session didn't end without an outcome. */
  readonly silence: Silence | null;
  /** The service acked something in this session, with a proof. */
  readonly has_answered: boolean;
  /** A batch got no outcome, so the session ends; later outcomes of that kind are caused by it. */
  readonly is_over: boolean;
}

/** Begins at the cursor. `waiting`: records that are offered again later. */
export function sendingFrom(
  cursor: Cursor,
  { silence = null, waiting = [] }: { readonly silence?: Silence | null; readonly waiting?: readonly Seq[] } = {},
): Sending {
  const begun: Sending = {
    cursor,
    passed: cursor,
    lanes: { live_seq: cursor.acked_seq, context: null, backlog: null, by_record: [], credit: 0, backlog_at: 0 },
    ahead: { kind: "unknown" },
    is_split: false,
    silence,
    has_answered: false,
    is_over: false,
  };
  return passing(begun, waiting);
}

/** The input of a decision. */
interface SendingNow {
  readonly sendable_seq: Seq;
  readonly mono: Milliseconds;
  /** Batches that may be under way at once. */
  readonly window: number;
  /** Batches under way. */
  readonly under_way: number;
  /** Chunks under way; null: none may be sent. */
  readonly chunks: { readonly under_way: number; readonly bytes: number } | null;
  /** The lanes that wait to save the month's budget; absent: none. */
  readonly held?: Held;
}

/**
 * Chunks, and bytes of chunks, under way per batch of the window: with the usual window 16 chunks and 64 KiB. A fifth of that fills a line
 * of 1 Mbit/s and 100 ms. The rest is for services that commit several chunks at once.
 */
const CHUNKS_PER_BATCH = 4;
const CHUNK_BYTES_PER_BATCH = 16 * 1024;

/**
 * The next action.
 * - acks: wait for the outcome of something under way.
 * - news: wait until something is recorded, and at most `ms` if that isn't null.
 * - probe: offer this record once more.
 * - chunk: send a part of the backlog as it is stored.
 * - send: send a batch of at most `limit` records; null: as many as fit.
 */
type SendingAction =
  | { readonly kind: "acks" }
  | { readonly kind: "news"; readonly ms: Milliseconds | null }
  | { readonly kind: "probe"; readonly seq: Seq }
  | { readonly kind: "chunk"; readonly from: Seq; readonly end: Seq }
  | { readonly kind: "send"; readonly lane: LaneName; readonly limit: number | null };

export function nextAction(sending: Sending, now: SendingNow): SendingAction {
  const { ahead, lanes, silence } = sending;
  const { held = NOTHING_HELD, sendable_seq } = now;
  const isFull = now.under_way >= (ahead.kind === "no" ? now.window : 1);
  const chunk = nextChunk(sending, now);
  const isBacklogFull = chunk === null ? isFull : hasNoRoom(now);
  if (isFull && isBacklogFull) return { kind: "acks" };
  if (ahead.kind === "probe") return { kind: "probe", seq: ahead.seq };
  const full = { context: isFull, live: isFull || held.live, backlog: isBacklogFull || held.backlog };
  const lane = nextLane(lanes, now, full);
  if (lane === "backlog" && chunk !== null) return { kind: "chunk", ...chunk };
  if (lane !== null) {
    const stretch = stretchOf(lanes, lane, sendable_seq);
    return { kind: "send", lane, limit: stretch === null ? null : limitBehind(silence, stretch.seq) };
  }
  if (nextLane(lanes, now, { context: false, ...held }) !== null) return { kind: "acks" };
  const backlog_ms = hasBacklog(lanes) && !held.backlog ? Math.max(1, lanes.backlog_at - now.mono) : null;
  return { kind: "news", ms: soonest(backlog_ms, held.ms) };
}

export function soonest(one: Milliseconds | null, other: Milliseconds | null): Milliseconds | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}

/** Returns the part of the backlog to send as a chunk next: nothing acked, and nothing that sessions ended over. */
function nextChunk(sending: Sending, now: SendingNow): { readonly from: Seq; readonly end: Seq } | null {
  const { silence } = sending;
  const { backlog, by_record } = sending.lanes;
  if (now.chunks === null || backlog === null || by_record.length > 0) return null;
  const { seq } = backlog;
  const { acked_to, end } = openStretch(sending, seq, backlog.end);
  if (acked_to !== null || limitBehind(silence, seq) !== null) return null;
  const isBefore = silence !== null && seq < silence.from;
  const upTo = Math.min(end, now.sendable_seq, isBefore ? silence.from - 1 : Infinity);
  return upTo > seq ? { from: seq + 1, end: upTo } : null;
}

function hasNoRoom({ window, chunks }: SendingNow): boolean {
  const { under_way = 0, bytes = 0 } = chunks ?? {};
  return under_way >= CHUNKS_PER_BATCH * window || bytes >= CHUNK_BYTES_PER_BATCH * window;
}

/** Returns the most records of the batch that begins after `after`; null: as many as fit. */
function limitBehind(silence: Silence | null, after: Seq): number | null {
  return silence !== null && after < silence.to && after >= silence.from - 1 ? silence.limit : null;
}

/** Lets a part of the log be sent in batches, because no chunk holds it or the service refused the chunk. */
export function byRecord(sending: Sending, { from, to }: { readonly from: Seq; readonly to: Seq }): Sending {
  const { lanes } = sending;
  const { backlog } = lanes;
  const isUnsent = backlog !== null && backlog.seq < to;
  const by_record = [...lanes.by_record, { seq: from - 1, end: to }];
  return { ...sending, lanes: { ...lanes, by_record, backlog: isUnsent ? restAfter(backlog, to) : backlog } };
}

/** Gives a large backlog a lane of its own, so that new records needn't wait for it, once the service is known not to be ahead. */
export function splitOnce(sending: Sending, sendable_seq: Seq, least = LEAST_BACKLOG): Sending {
  const { lanes, ahead, is_split } = sending;
  if (ahead.kind !== "no" || is_split) return sending;
  const isLarge = lanes.backlog === null && sendable_seq - lanes.live_seq >= least;
  const waiting = { seq: lanes.live_seq, end: sendable_seq };
  const split = { ...lanes, live_seq: sendable_seq, context: waiting, backlog: waiting };
  return { ...sending, is_split: true, lanes: isLarge ? split : lanes };
}

/** A batch, with the seqs that it covers. Seqs missing at its front were deleted from a full store. */
export interface SentRange {
  readonly from: Seq;
  readonly to: Seq;
  readonly records: number;
  readonly is_chunk: boolean;
  /** Newest record that might have been sent at that time. */
  readonly sendable_seq: Seq;
}

/**
 * The meaning of an outcome.
 * - acked: the service has all but the refused records.
 * - halve: send both halves, one after the other.
 * - by_record: send the chunk's range in batches, so that the service can say what is wrong.
 * - refused: the record isn't taken now, and is offered again.
 * - conflict: the service claims to hold other records from `seq` on.
 * - end: end the session, because the fate of the batch is unknown.
 */
export type SendingVerdict =
  | { readonly kind: "acked"; readonly refused: readonly RefusedRecord[] }
  | { readonly kind: "halve" | "by_record" }
  | { readonly kind: "refused"; readonly refused: RefusedRecord }
  | { readonly kind: "conflict"; readonly seq: Seq; readonly held_seq: Seq; readonly refused: readonly RefusedRecord[] }
  | { readonly kind: "end"; readonly reason: Text; readonly refused: RefusedRecord | null };

/** The sending after an outcome, and what the outcome means. */
interface Judged {
  readonly sending: Sending;
  readonly verdict: SendingVerdict;
}

export function verdictOf(sending: Sending, range: SentRange, outcome: BatchOutcome): Judged {
  if (range.is_chunk && outcome.kind !== "acked" && outcome.kind !== "keep")
    return { sending: byRecord(sending, range), verdict: { kind: "by_record" } };
  switch (outcome.kind) {
    case "acked": {
      const { rejected, is_proven } = outcome;
      const has_answered = sending.has_answered || is_proven;
      const ahead = aheadAfter(sending, range, outcome.held_seq);
      const acked = taken({ ...sending, has_answered, ahead }, range, rejected);
      return { sending: acked, verdict: { kind: "acked", refused: named(rejected) } };
    }
    case "refused":
    case "too_long":
      if (range.records > 1) return { sending, verdict: { kind: "halve" } };
      return refused(sending, {
        seq: range.to,
        reason: outcome.reason,
        cause: outcome.kind === "refused" ? "whole" : "too_long",
      });
    case "conflict":
      return conflict(sending, range, outcome);
    case "keep":
      return unanswered(sending, range, outcome);
  }
}

function named(rejected: readonly Rejection[]): readonly RefusedRecord[] {
  return rejected.map(({ seq, reason }) => ({ seq, reason, cause: "named" }));
}

function refused(sending: Sending, record: RefusedRecord): Judged {
  return { sending: passing(sending, [record.seq]), verdict: { kind: "refused", refused: record } };
}

/** Lets the lanes skip these records until they are offered again. */
export function passing(sending: Sending, seqs: readonly Seq[]): Sending {
  return { ...sending, passed: withAcked(sending.passed, ...seqs.map((seq) => [seq, seq] as const)) };
}

/** Moves the cursor over a range that is acked or will never be sent, except over its rejected records, which only the lanes skip. */
export function taken(
  sending: Sending,
  { from, to }: Pick<SentRange, "from" | "to">,
  rejected: readonly Pick<Rejection, "seq">[] = [],
): Sending {
  const ranges: AckedRange[] = [];
  let next = from;
  for (const seq of [...rejected.map((one) => one.seq).sort((a, b) => a - b), to + 1]) {
    if (seq > next) ranges.push([next, seq - 1]);
    next = seq + 1;
  }
  return {
    ...sending,
    cursor: withAcked(sending.cursor, ...ranges),
    passed: withAcked(sending.passed, [from, to]),
  };
}

/**
 * Handles a conflict: the service has everything before it. If the service has also acked a later record under this name, a new name from
 * here on would store that record twice. Then the conflict counts as a refusal of this one record.
 */
function conflict(
  before: Sending,
  range: SentRange,
  { seq, held_seq, rejected }: Extract<BatchOutcome, { kind: "conflict" }>,
): Judged {
  const sending = seq > range.from ? taken(before, { from: range.from, to: seq - 1 }, rejected) : before;
  const hasLater = sending.cursor.ahead.some(([from]) => from > seq);
  if (!hasLater) return { sending, verdict: { kind: "conflict", seq, held_seq, refused: named(rejected) } };
  const reason = message("log.other_record", { seq });
  const { sending: passed, verdict } = refused(sending, { seq, reason, cause: "whole" });
  return { sending: seq < range.to ? byRecord(passed, { from: seq + 1, to: range.to }) : passed, verdict };
}

/** Ends the session. If the broker confirmed the batch, a record in it may be the cause; a broken connection shows nothing. */
function unanswered(
  sending: Sending,
  { from, to, records }: SentRange,
  { reason, is_silent = false }: Extract<BatchOutcome, { kind: "keep" }>,
): Judged {
  if (sending.is_over) return { sending, verdict: { kind: "end", reason, refused: null } };
  const silence = { from, to, limit: Math.ceil(records / 2) };
  const ended = { ...sending, silence, is_over: true };
  if (records > 1 || !is_silent) return { sending: ended, verdict: { kind: "end", reason, refused: null } };
  const record = { seq: to, reason, cause: sending.has_answered ? "unanswered" : "silence" } as const;
  return {
    sending: { ...passing(ended, [to]), silence: null },
    verdict: { kind: "end", reason: message("log.sent_alone", { reason, seq: to }), refused: record },
  };
}

function aheadAfter({ ahead }: Sending, { to, sendable_seq }: SentRange, held_seq: Seq): Ahead {
  if (ahead.kind === "no" || held_seq <= to) return { kind: "no" };
  return ahead.kind === "unknown" && held_seq <= sendable_seq ? { kind: "probe", seq: held_seq } : { kind: "yes" };
}

/** Returns the sending after the service's newest record was offered once more. `missing`: it is no longer in the store. */
export function afterProbe(sending: Sending, outcome: BatchOutcome["kind"] | "missing"): Sending {
  return { ...sending, ahead: { kind: outcome === "acked" ? "no" : "yes" } };
}

/**
 * Size of a batch before gzip, estimated: some 2,400 readings, 8 KB compressed. With four batches under way this fills a line of
 * 1 Mbit/s and 100 ms. Larger ones hardly compress better. The limit of a batch is 128 KiB.
 */
const TARGET_BYTES = 48 * 1024;
/** Kind, tag index and time of one record in its columns. */
const RECORD_BYTES = 16;

/**
 * Cuts records, in seq order, into batches within the size limit: each without a hole, of one boot and one clock offset, so that all times
 * follow from the first. A record larger than the target is a batch alone.
 */
export function cutBatches(records: readonly Placed[]): readonly (readonly Placed[])[] {
  const batches: Placed[][] = [];
  let bytes = 0;
  for (const record of records) {
    const { value } = record;
    const size = RECORD_BYTES + (typeof value === "number" ? String(value) : JSON.stringify(value)).length;
    const batch = batches.at(-1);
    const last = batch?.at(-1);
    if (batch !== undefined && last !== undefined && isNext(last, record) && bytes + size <= TARGET_BYTES) {
      batch.push(record);
      bytes += size;
    } else {
      batches.push([record]);
      bytes = size;
    }
  }
  return batches;
}

function isNext(last: Placed, next: Placed): boolean {
  return next.seq === last.seq + 1 && next.boot === last.boot && next.time - next.mono === last.time - last.mono;
}
