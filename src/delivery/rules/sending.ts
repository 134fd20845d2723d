import { message, type Text } from "../../domain/message.ts";
import type { Placed } from "../../domain/record.ts";
import type { Milliseconds, Seq } from "../../domain/units.ts";
import type { BatchOutcome, Rejection } from "../port.ts";
import { type Held, NOTHING_HELD } from "./held.ts";
import type { RefusedRecord } from "./refusals.ts";

/** Acked ranges of a log: all records up to `acked_seq`, and the ranges in `ahead`, which follow a record that isn't acked yet. */
export interface Cursor {
  readonly acked_seq: Seq;
  readonly ahead: readonly AckedRange[];
}

type AckedRange = readonly [from: Seq, to: Seq];

/**
 * Adds acked ranges. The cursor moves to the end of the ranges that continue it without a hole. A range at or below the cursor changes
 * nothing.
 */
export function withAcked(cursor: Cursor, ...ranges: readonly AckedRange[]): Cursor {
  let acked_seq = cursor.acked_seq;
  const ahead: AckedRange[] = [];
  for (const range of [...cursor.ahead, ...ranges].sort((a, b) => a[0] - b[0])) {
    const last = ahead.at(-1);
    if (range[0] <= acked_seq + 1) acked_seq = Math.max(acked_seq, range[1]);
    // Joins adjacent ranges. Otherwise, a record that waits for a long time would leave one range for each batch after it.
    else if (last !== undefined && range[0] <= last[1] + 1) ahead.splice(-1, 1, [last[0], Math.max(last[1], range[1])]);
    else ahead.push(range);
  }
  return { acked_seq, ahead };
}

/**
 * If the record after `seq` is acked, returns the end of its acked range. Otherwise returns the end of the unacked records after `seq`.
 * Neither end exceeds `end`.
 */
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

/**
 * Least number of waiting records that form a backlog. Fewer records stay in one lane (send queue), in seq order, because they are sent
 * soon.
 */
export const LEAST_BACKLOG = 2_000;
/** Number of backlog batches sent for each live batch. */
const BACKLOG_PER_LIVE = 3;

/** Records after `seq`, up to `end`. */
interface Stretch {
  readonly seq: Seq;
  readonly end: Seq;
}

/**
 * The order in which a log is sent. There are three lanes (send queues), each in seq order. context: the parameter and clock records of the
 * backlog, which are needed to read all later records. live: new records. backlog: records that waited while the service was away. Without
 * a backlog, all records are sent in the live lane.
 */
export interface Lanes {
  /** The newest record sent in the live lane. */
  readonly live_seq: Seq;
  /** Parameter and clock records that remain to be sent; null: none. */
  readonly context: Stretch | null;
  /** The backlog that remains to be sent, including its context records; null: none. */
  readonly backlog: Stretch | null;
  /**
   * Parts of the backlog that are sent in batches, although the rest is sent in chunks. No chunk holds these records, or the service
   * refused the chunk.
   */
  readonly by_record: readonly Stretch[];
  /** Number of backlog batches that may be sent before the next live batch. */
  readonly credit: number;
  /** Monotonic time before which no backlog batch is sent, because of the rate limit. */
  readonly backlog_at: Milliseconds;
}

export type LaneName = "context" | "live" | "backlog";

const NO_LANE_FULL: Readonly<Record<LaneName, boolean>> = { context: false, live: false, backlog: false };

/**
 * Returns the lane that sends next; null: no lane can send before a new record or before `backlog_at`. `full`: lanes that must not send.
 */
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

/** Returns the range that a lane sends next; null: nothing to send. */
export function stretchOf(lanes: Lanes, lane: LaneName, sendable_seq: Seq): Stretch | null {
  if (lane === "live") return { seq: lanes.live_seq, end: sendable_seq };
  return lane === "backlog" ? (lanes.by_record[0] ?? lanes.backlog) : lanes.context;
}

/** A batch that is being sent. `rate`: maximum number of backlog records per second; null: as fast as acks arrive. */
interface SentBatch {
  readonly to: Seq;
  readonly records: number;
  readonly mono: Milliseconds;
  readonly rate: number | null;
}

/** Returns the state after a batch up to `to` was sent in a lane. */
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
 * Whether the service may hold records that this store doesn't know. After an old copy of the store was restored, the service holds later
 * records that this store never had. Records after the first difference must not be stored there under the same name. So batches are sent
 * in order and one at a time until it is clear that the service isn't ahead. That is clear after its newest record was sent, or was offered
 * once more (`probe`) and is the same as here.
 */
type Ahead = { readonly kind: "unknown" | "yes" | "no" } | { readonly kind: "probe"; readonly seq: Seq };

/**
 * Records without an outcome when their session ended. One of them may make the service or the broker fail. So they are sent in smaller and
 * smaller batches, session after session, until each batch has one record.
 */
export interface Silence {
  readonly from: Seq;
  readonly to: Seq;
  /** Maximum number of these records in the next batch. */
  readonly limit: number;
}

/**
 * The sending of one log in one session, as pure data: which records are acked, which are sent next, and which faults the service may have.
 *
 * `sendingFrom` starts at the stored cursor. `nextAction` decides the next step, `afterSending` notes a sent batch, and `verdictOf`
 * evaluates an outcome. The cursor never passes a record that isn't acked. `passed` is further ahead: it also covers records that wait for
 * another offer, and the lanes skip what it covers. A session ends with the first batch that has no outcome; its `silence` is then the
 * input of the next session.
 */
export interface Sending {
  readonly cursor: Cursor;
  /** The cursor as if each waiting record were acked. The lanes skip all records that it covers. */
  readonly passed: Cursor;
  readonly lanes: Lanes;
  readonly ahead: Ahead;
  /** Whether the size of the backlog was checked. A large backlog has its own lane. */
  readonly is_split: boolean;
  /** Records without an outcome in the last session; null: the session ended for another reason. */
  readonly silence: Silence | null;
  /** True if the service acked at least one batch in this session, with a valid hash as proof. */
  readonly has_answered: boolean;
  /** True if a batch got no outcome and the session therefore ends. That end causes any later missing outcomes. */
  readonly is_over: boolean;
}

/**
 * Returns the sending state at the start of a session, which begins at the stored cursor. `waiting`: records that are offered again later.
 */
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

/** The inputs of a decision. */
interface SendingNow {
  readonly sendable_seq: Seq;
  readonly mono: Milliseconds;
  /** Maximum number of pending batches. */
  readonly window: number;
  /** Number of pending batches. */
  readonly under_way: number;
  /** Number and bytes of pending chunks; null: no chunk may be sent. */
  readonly chunks: { readonly under_way: number; readonly bytes: number } | null;
  /** The lanes that must wait to save the month's data budget; absent: none. */
  readonly held?: Held;
}

/**
 * Maximum number and bytes of pending chunks per batch of the window. With the usual window, that is 16 chunks and 64 KiB. A fifth of that
 * fills a line of 1 Mbit/s and 100 ms; the rest is for services that commit several chunks at once.
 */
const CHUNKS_PER_BATCH = 4;
const CHUNK_BYTES_PER_BATCH = 16 * 1024;

/**
 * The next action.
 * - acks: wait for the outcome of a pending batch or chunk.
 * - news: wait until a new record is logged, but at most `ms` if it isn't null.
 * - probe: offer this record once more.
 * - chunk: send a part of the backlog in its stored form.
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

/**
 * Returns the part of the backlog to send as the next chunk. It contains no acked records, and no records that had no outcome in the last
 * session. null: no chunk can be sent.
 */
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

/** Returns the maximum number of records in the batch that starts after `after`; null: as many as fit. */
function limitBehind(silence: Silence | null, after: Seq): number | null {
  return silence !== null && after < silence.to && after >= silence.from - 1 ? silence.limit : null;
}

/** Marks a part of the log for sending in batches, because no chunk holds it or the service refused the chunk. */
export function byRecord(sending: Sending, { from, to }: { readonly from: Seq; readonly to: Seq }): Sending {
  const { lanes } = sending;
  const { backlog } = lanes;
  const isUnsent = backlog !== null && backlog.seq < to;
  const by_record = [...lanes.by_record, { seq: from - 1, end: to }];
  return { ...sending, lanes: { ...lanes, by_record, backlog: isUnsent ? restAfter(backlog, to) : backlog } };
}

/**
 * Gives a large backlog its own lane, so that new records needn't wait for it. This is done once, when it is known that the service isn't
 * ahead.
 */
export function splitOnce(sending: Sending, sendable_seq: Seq, least = LEAST_BACKLOG): Sending {
  const { lanes, ahead, is_split } = sending;
  if (ahead.kind !== "no" || is_split) return sending;
  const isLarge = lanes.backlog === null && sendable_seq - lanes.live_seq >= least;
  const waiting = { seq: lanes.live_seq, end: sendable_seq };
  const split = { ...lanes, live_seq: sendable_seq, context: waiting, backlog: waiting };
  return { ...sending, is_split: true, lanes: isLarge ? split : lanes };
}

/** A sent batch, with the seqs that it covers. Seqs missing at its start were deleted from a full store. */
export interface SentRange {
  readonly from: Seq;
  readonly to: Seq;
  readonly records: number;
  readonly is_chunk: boolean;
  /** The newest record that could be sent at that time. */
  readonly sendable_seq: Seq;
}

/**
 * The meaning of an outcome.
 * - acked: the service has stored all records except the refused ones.
 * - halve: send both halves, one after the other.
 * - by_record: send the chunk's range in batches, so that the service can name the fault.
 * - refused: the record isn't accepted now, and is offered again later.
 * - conflict: the service claims to hold other records from `seq` on.
 * - end: end the session, because it is unknown whether the batch was stored.
 */
export type SendingVerdict =
  | { readonly kind: "acked"; readonly refused: readonly RefusedRecord[] }
  | { readonly kind: "halve" | "by_record" }
  | { readonly kind: "refused"; readonly refused: RefusedRecord }
  | { readonly kind: "conflict"; readonly seq: Seq; readonly held_seq: Seq; readonly refused: readonly RefusedRecord[] }
  | { readonly kind: "end"; readonly reason: Text; readonly refused: RefusedRecord | null };

/** The state after an outcome, and the meaning of the outcome. */
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

/** Makes the lanes skip these records until they are offered again. */
export function passing(sending: Sending, seqs: readonly Seq[]): Sending {
  return { ...sending, passed: withAcked(sending.passed, ...seqs.map((seq) => [seq, seq] as const)) };
}

/** Moves the cursor over a range that is acked or will never be sent. Rejected records stop the cursor; only the lanes skip them. */
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
 * Handles a conflict. The service has all records before `seq`. If the service has also acked a later record under this name, a new name
 * from `seq` on would store the later record twice. Then the conflict counts as a refusal of this single record.
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

/**
 * Ends the session. If the broker confirmed the batch, a record in it may be the cause. A broken connection proves nothing about the batch.
 */
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

/** Returns the state after the service's newest record was offered once more. `missing`: this store doesn't have that record any more. */
export function afterProbe(sending: Sending, outcome: BatchOutcome["kind"] | "missing"): Sending {
  return { ...sending, ahead: { kind: outcome === "acked" ? "no" : "yes" } };
}

/**
 * Estimated size of a batch before gzip: some 2,400 readings, 8 KB compressed. With four pending batches, this size fills a line of 1
 * Mbit/s and 100 ms. Larger batches hardly compress better. The limit of a batch is 128 KiB.
 */
const TARGET_BYTES = 48 * 1024;
/** Estimated bytes of kind, tag index and time of one record. */
const RECORD_BYTES = 16;

/**
 * Cuts records, in seq order, into batches within the size limit. Each batch has no hole, one boot and one clock offset, so that all times
 * follow from the first. A record larger than the limit gets its own batch.
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
