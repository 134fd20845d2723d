import type { Milliseconds, Seq } from "../../domain/units.ts";
import type { BatchOutcome, Rejection } from "../port.ts";
import { type Held, NOTHING_HELD } from "./held.ts";
import {
  goesByRecord,
  hasBacklog,
  type LaneName,
  type Lanes,
  nextLane,
  oneLane,
  stretchOf,
  withBacklog,
  withSent,
} from "./lanes.ts";

/** Ranges that the service has acked beyond the cursor, because an earlier batch's ack is still to come. */
interface Cursor {
  readonly acked_seq: Seq;
  readonly ahead: readonly AckedRange[];
}

type AckedRange = readonly [from: Seq, to: Seq];

export function cursorAt(acked_seq: Seq): Cursor {
  return { acked_seq, ahead: [] };
}

/** Takes an acked range in; the cursor moves over everything unbroken. A range at or below the cursor changes nothing. */
export function withAcked(cursor: Cursor, from: Seq, to: Seq): Cursor {
  let acked_seq = cursor.acked_seq;
  const ahead: AckedRange[] = [];
  for (const range of [...cursor.ahead, [from, to] as const].sort((a, b) => a[0] - b[0])) {
    const last = ahead.at(-1);
    if (range[0] <= acked_seq + 1) acked_seq = Math.max(acked_seq, range[1]);
    // A record that waits for long must not leave a range for each batch after it.
    else if (last !== undefined && range[0] <= last[1] + 1) ahead.splice(-1, 1, [last[0], Math.max(last[1], range[1])]);
    else ahead.push(range);
  }
  return { acked_seq, ahead };
}

/**
 * What an earlier session of the same stream left behind a record that waits, if nothing has moved the acked cursor since: these ranges
 * are not sent again.
 */
export function aheadOf(cursor: Cursor, acked_seq: Seq): readonly AckedRange[] {
  return cursor.acked_seq === acked_seq ? cursor.ahead : [];
}

/** The acked range that begins right after `seq`, or else the end of what can be sent from there, at most `end`. */
export function openStretch(
  { cursor }: Sending,
  seq: Seq,
  end: Seq,
): { readonly acked_to: Seq | null; readonly end: Seq } {
  const next = cursor.ahead.find(([, to]) => to > seq);
  if (next === undefined) return { acked_to: null, end };
  const [from, to] = next;
  return from <= seq + 1 ? { acked_to: Math.min(to, end), end } : { acked_to: null, end: Math.min(end, from - 1) };
}

/**
 * With an old copy of the store put back, the service holds records of a future that this store never had, and what follows
 * the first that differs must not get there under the same name. So batches go one at a time and in order until the
 * service is seen to hold nothing else: its newest record is among what was sent, or, offered once more as a `probe`, is the same
 * as here.
 */
type Ahead = { readonly kind: "unknown" | "yes" | "no" } | { readonly kind: "probe"; readonly seq: Seq };

/**
 * Records that sessions end over: they were sent, and no outcome came. One of them may be what the service or the broker
 * chokes on, so they go in smaller and smaller batches, at last one alone; the rest of the log comes through that way.
 */
export interface Silence {
  readonly from: Seq;
  readonly to: Seq;
  /** Most of them in one batch, next time. */
  readonly limit: number;
  /** How often one went unanswered alone though the broker had it, right after the service had answered another. */
  readonly alone: number;
  /** A record that the service is believed to have, to be offered once more; 0: none is known. */
  readonly re_offer_seq: Seq;
}

/** A session's sending of one stream: how far the service has come, and what is to go next. Pure data. */
export interface Sending {
  readonly cursor: Cursor;
  readonly lanes: Lanes;
  /** Whether the service may hold what this store doesn't know of. */
  readonly ahead: Ahead;
  /** What waited at the begin was put in a lane of its own, where it was much. */
  readonly is_split: boolean;
  /** What the session before ended over, or this one does. */
  readonly silence: Silence | null;
  /** The service answered a record that it has, offered once more: it isn't all that it leaves unanswered. */
  readonly re_offered: "not yet" | "answered" | "missing";
  /** Newest record that the service is known to have answered for; 0: none. */
  readonly answered_seq: Seq;
  /** Nothing more can be said of a batch; those behind it are no news. */
  readonly is_over: boolean;
}

/** `first_seq`: oldest record that goes under the stream's present name: those before it are another stream's at the service. */
export function sendingFrom(
  acked_seq: Seq,
  {
    silence,
    first_seq,
    ahead = [],
  }: { readonly silence: Silence | null; readonly first_seq: Seq; readonly ahead?: readonly AckedRange[] } = {
    silence: null,
    first_seq: 1,
  },
): Sending {
  const answered_seq = silence?.re_offer_seq ?? acked_seq;
  return {
    cursor: { acked_seq, ahead },
    lanes: oneLane(acked_seq),
    ahead: { kind: "unknown" },
    is_split: false,
    silence,
    re_offered: "not yet",
    answered_seq: answered_seq >= first_seq ? answered_seq : 0,
    is_over: false,
  };
}

/** What is known at the time of a decision. */
interface SendingNow {
  readonly sendable_seq: Seq;
  readonly mono: Milliseconds;
  /** Batches that the service lets be under way, and those that are. */
  readonly window: number;
  readonly under_way: number;
  /** Those that are under way; null: none may be sent. */
  readonly chunks: { readonly under_way: number; readonly bytes: number } | null;
  /** What waits to spare the month's budget; absent: nothing. */
  readonly held?: Held;
}

/**
 * Chunks under way for each batch that may be, and their bytes: with the usual window 16, and 64 KiB. A line of 1 Mbit/s and 100 ms is filled
 * by a fifth of that; the rest is for services that commit several at once.
 */
const CHUNKS_PER_BATCH = 4;
const CHUNK_BYTES_PER_BATCH = 16 * 1024;

/**
 * What to do next. `news`: wait until something is recorded, or for `ms` where that isn't null. `re-offer`: offer a record
 * once more that is acked. `chunk`: of the backlog, as it stands in the store, where it does. `limit`: most records; null: as many as fit.
 */
type SendingAction =
  | { readonly kind: "acks" }
  | { readonly kind: "news"; readonly ms: Milliseconds | null }
  | { readonly kind: "probe"; readonly seq: Seq }
  | { readonly kind: "re-offer"; readonly seq: Seq }
  | { readonly kind: "chunk"; readonly from: Seq; readonly end: Seq }
  | { readonly kind: "send"; readonly lane: LaneName; readonly limit: number | null };

export function nextAction(sending: Sending, now: SendingNow): SendingAction {
  const { ahead, lanes } = sending;
  const { held = NOTHING_HELD } = now;
  const isFull = now.under_way >= (ahead.kind === "no" ? now.window : 1);
  const chunk = nextChunk(sending, now);
  const isBacklogFull = chunk === null ? isFull : hasNoRoom(now);
  const full = { context: isFull, live: isFull || held.live, backlog: isBacklogFull || held.backlog };
  if (isFull && isBacklogFull) return { kind: "acks" };
  if (ahead.kind === "probe") return { kind: "probe", seq: ahead.seq };
  const lane = nextLane(lanes, { ...now, full });
  if (lane === "backlog" && chunk !== null) return { kind: "chunk", ...chunk };
  if (lane !== null) return sendIn(sending, lane, now);
  if (nextLane(lanes, { ...now, full: { context: false, ...held } }) !== null) return { kind: "acks" };
  const backlog_ms = hasBacklog(lanes) && !held.backlog ? Math.max(1, lanes.backlog_at - now.mono) : null;
  return { kind: "news", ms: soonest(backlog_ms, held.ms) };
}

function soonest(one: Milliseconds | null, other: Milliseconds | null): Milliseconds | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}

/** Where the backlog goes on with a chunk: not in what sessions end over, nor before the service is seen not to be ahead. */
function nextChunk({ lanes, silence }: Sending, now: SendingNow): { readonly from: Seq; readonly end: Seq } | null {
  const { backlog, by_record } = lanes;
  if (now.chunks === null || backlog === null || by_record.length > 0) return null;
  const { seq, end } = backlog;
  if (limitBehind(silence, seq) !== null) return null;
  const isBefore = silence !== null && seq < silence.from;
  const upTo = Math.min(end, now.sendable_seq, isBefore ? silence.from - 1 : Infinity);
  return upTo > seq ? { from: seq + 1, end: upTo } : null;
}

function hasNoRoom({ window, chunks }: SendingNow): boolean {
  const { under_way = 0, bytes = 0 } = chunks ?? {};
  return under_way >= CHUNKS_PER_BATCH * window || bytes >= CHUNK_BYTES_PER_BATCH * window;
}

function sendIn(sending: Sending, lane: LaneName, { sendable_seq }: SendingNow): SendingAction {
  const stretch = stretchOf(sending.lanes, lane, sendable_seq);
  const limit = stretch === null ? null : limitBehind(sending.silence, stretch.seq);
  const { re_offered, answered_seq } = sending;
  if (limit === 1 && re_offered === "not yet" && answered_seq > 0) return { kind: "re-offer", seq: answered_seq };
  return { kind: "send", lane, limit };
}

/** A stretch of the backlog holds no chunk, or one that the service doesn't take. */
export function byRecord(sending: Sending, { from, to }: { readonly from: Seq; readonly to: Seq }): Sending {
  return { ...sending, lanes: goesByRecord(sending.lanes, { seq: from - 1, end: to }) };
}

/** An acked record was offered once more. `missing`: it isn't here any more. */
export function afterReOffer(sending: Sending, outcome: BatchOutcome["kind"] | "missing"): Sending {
  const { silence } = sending;
  if (outcome !== "keep") {
    const isAsked = outcome !== "missing" && outcome !== "too_long";
    return { ...sending, re_offered: isAsked ? "answered" : "missing" };
  }
  if (silence === null) return sending;
  // The record itself goes unanswered, as one that was set aside does: the one before it is asked next time.
  return { ...sending, silence: { ...silence, re_offer_seq: Math.max(1, silence.re_offer_seq - 1) } };
}

/** Once the service is seen not to be ahead, what waits is told from what is new. */
export function splitOnce(sending: Sending, sendable_seq: Seq, least_backlog?: number): Sending {
  if (sending.ahead.kind !== "no" || sending.is_split) return sending;
  return { ...sending, is_split: true, lanes: withBacklog(sending.lanes, sendable_seq, least_backlog) };
}

export function afterSending(sending: Sending, lane: LaneName, sent: Parameters<typeof withSent>[2]): Sending {
  return { ...sending, lanes: withSent(sending.lanes, lane, sent) };
}

/** A batch and the seqs it stands for: what is missing at its front was given up. */
export interface SentRange {
  readonly from: Seq;
  readonly to: Seq;
  readonly records: number;
  /** It went as it stands in the store. */
  readonly is_chunk: boolean;
  /** Newest record that might have been sent then. */
  readonly sendable_seq: Seq;
  /** How often it was refused already. */
  readonly refusals: number;
  /** A conflict was named at that seq, and the service has shown since that it has the record before; null: none was. */
  readonly vouched: Seq | null;
  /** Newest record that the service may have from us, whatever it says: it was handed over before. */
  readonly offered_seq: Seq;
}

/** A record alone is refused so often before it is set aside: what was spoilt on the way isn't poison. */
const REFUSALS = 2;

/**
 * What an outcome means. `acked`: the cursor stands at `up_to`. `halve`: send the two halves of the batch one after the other; `again`: send it once more.
 * `by_record`: the chunk's range goes in batches, which can say what is wrong with it.
 * `set_aside`: its one record will never be taken; then it counts as acked. `waits`: its one record is longer than a message may be; it
 * stays unacked, and what follows goes on. `fork`: from that seq on the service holds
 * other records. `vouch`: so it says, and is to show that it has the record before. `doubt`: it may hold our own one there.
 * `end`: nothing can be said of the batch, the session is worth nothing.
 */
export type SendingVerdict =
  | { readonly kind: "acked"; readonly up_to: Seq }
  | { readonly kind: "halve" | "again" | "by_record" }
  | { readonly kind: "set_aside" | "waits"; readonly reason: string }
  | NamedConflict
  | { readonly kind: "end"; readonly reason: string };

export interface NamedConflict {
  readonly kind: "fork" | "vouch" | "doubt";
  readonly seq: Seq;
  /** The newest of the stream that the service holds, by its own word. */
  readonly held_seq: Seq;
  readonly reason: string;
  /** Refused of the records before it. */
  readonly rejected: readonly Rejection[];
}

/** What an outcome makes of the sending, and what is to be done about it. */
interface Judged {
  readonly sending: Sending;
  readonly verdict: SendingVerdict;
}

export function verdictOf(sending: Sending, range: SentRange, outcome: BatchOutcome): Judged {
  if (range.is_chunk && outcome.kind !== "acked" && outcome.kind !== "keep")
    return { sending: byRecord(sending, range), verdict: { kind: "by_record" } };
  switch (outcome.kind) {
    case "acked": {
      const { is_proven, rejected, held_seq } = outcome;
      // What was refused is no record to ask for again.
      const isAnswered = is_proven && rejected.every(({ seq }) => seq !== range.to);
      const answered_seq = isAnswered ? range.to : sending.answered_seq;
      return taken({ ...sending, ahead: aheadAfter(sending, range, held_seq), answered_seq }, range);
    }
    case "refused": {
      if (range.records > 1) return { sending, verdict: { kind: "halve" } };
      const isLast = range.refusals + 1 >= REFUSALS;
      return { sending, verdict: isLast ? { kind: "set_aside", reason: outcome.reason } : { kind: "again" } };
    }
    case "too_long":
      return { sending, verdict: range.records > 1 ? { kind: "halve" } : { kind: "waits", reason: outcome.reason } };
    case "conflict":
      return { sending, verdict: conflict(sending, range, outcome) };
    case "keep":
      return unanswered(sending, range, outcome);
  }
}

/** A record that goes unanswered so often, alone, by a service that answers others, will never be taken. */
const ALONE = 3;

const NEVER_ANSWERED = `never answered, ${ALONE} times alone, while the service answered others`;

function unanswered(
  sending: Sending,
  range: SentRange,
  { reason, is_silent = false }: Extract<BatchOutcome, { kind: "keep" }>,
): Judged {
  if (sending.is_over) return { sending, verdict: { kind: "end", reason } };
  const is_proven = is_silent && sending.re_offered === "answered";
  const silence = afterSilence(sending.silence, { ...range, is_proven, re_offer_seq: sending.answered_seq });
  // Nothing but the record itself is left to blame.
  if (silence.alone >= ALONE)
    return { sending: { ...sending, silence: null }, verdict: { kind: "set_aside", reason: NEVER_ANSWERED } };
  const which = silence.limit === 1 && silence.alone > 0 ? `, and seq ${silence.from} went alone` : "";
  return { sending: { ...sending, silence, is_over: true }, verdict: { kind: "end", reason: `${reason}${which}` } };
}

/** `is_proven`: the broker confirmed it, and the service answered another record of the stream in the same session. */
function afterSilence(
  before: Silence | null,
  unanswered: Pick<Silence, "from" | "to" | "re_offer_seq"> & { readonly records: number; readonly is_proven: boolean },
): Silence {
  const { from, to, records, is_proven, re_offer_seq } = unanswered;
  if (records > 1) return { from, to, limit: Math.ceil(records / 2), alone: 0, re_offer_seq };
  const known = before?.from === from && before.to === to ? before.alone : 0;
  return { from, to, limit: 1, alone: known + (is_proven ? 1 : 0), re_offer_seq };
}

/** Most records in the batch that begins behind `after`; null: as many as fit. */
function limitBehind(silence: Silence | null, after: Seq): number | null {
  return silence !== null && after < silence.to && after >= silence.from - 1 ? silence.limit : null;
}

/** The range is with the service, or will never be: the cursor may move over it. */
export function taken(sending: Sending, { from, to }: Pick<SentRange, "from" | "to">) {
  const cursor = withAcked(sending.cursor, from, to);
  return { sending: { ...sending, cursor }, verdict: { kind: "acked", up_to: cursor.acked_seq } } as const;
}

function aheadAfter({ ahead }: Sending, { to, sendable_seq }: SentRange, held_seq: Seq): Ahead {
  if (ahead.kind === "no" || held_seq <= to) return { kind: "no" };
  return ahead.kind === "unknown" && held_seq <= sendable_seq ? { kind: "probe", seq: held_seq } : { kind: "yes" };
}

/** The service's newest record was offered once more. `missing`: it isn't here any more. */
export function afterProbe(sending: Sending, outcome: BatchOutcome["kind"] | "missing"): Sending {
  return { ...sending, ahead: { kind: outcome === "acked" ? "no" : "yes" } };
}

/**
 * Only where everything before it is known to be there is it known to be the first that differs; and what the service has of the
 * log behind it already mustn't go there once more under another name. Nor must a record that was handed over before: it may be there,
 * whatever became of its ack. Under an old copy of the store those that differ are new ones, and offered for the first time.
 */
function conflict(
  { cursor }: Sending,
  range: SentRange,
  { seq, held_seq, rejected, is_proven }: Extract<BatchOutcome, { kind: "conflict" }>,
): SendingVerdict {
  const reason = `the service holds another record under seq ${seq} of this stream, as after an old copy of the store was put back: from there on it goes under another name`;
  if (range.from > cursor.acked_seq + 1 || cursor.ahead.length > 0) return { kind: "end", reason };
  const isProven = is_proven || range.vouched === seq;
  const kind = seq <= range.offered_seq ? "doubt" : isProven ? "fork" : "vouch";
  return { kind, seq, held_seq, reason, rejected };
}
