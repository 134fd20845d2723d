import type { LogReach } from "../../domain/booth-state.ts";
import type { HeldSeqs, StreamLabel } from "../../domain/provisioning.ts";
import type { RefusedRecords, TooLongRecords } from "../../domain/status.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../domain/time.ts";
import type { EpochMs, Milliseconds, Seq } from "../../domain/units.ts";

/**
 * The rule against a service that is wrong. A service may refuse a record, leave it unanswered, or claim that it holds another record
 * under the same seq. No such answer is final at once: the record stays unacked and is offered again every five minutes. A refused or
 * unanswered record holds nothing up; after a conflict the booth's delivery rests until the next offer. A refusal is accepted after a
 * day: the record is set aside. A conflict is accepted after an hour: the log gets a new name at the service.
 */
export const RETRY_MS: Milliseconds = 5 * MINUTE_MS;
const REFUSED_FOR_MS: Milliseconds = DAY_MS;
const IN_CONFLICT_FOR_MS: Milliseconds = HOUR_MS;

/** Refusals in a row after which a booth's delivery rests until the next offer: a service that refuses everything costs little traffic. */
export const MOST_REFUSALS = 50;
/** The store keeps as many records that were set aside. With more waiting records, delivery rests until the next offer. */
export const MOST_WAITING = 10_000;

/**
 * The reason why a record waits. named: the ack of a batch names it. whole: the service takes nothing of a batch with this record alone.
 * unanswered: no ack came for it alone, though the service acked another batch of the session. silence: the same, but nothing was acked.
 * too_long: no message may be as long.
 */
export type RefusalCause = "named" | "whole" | "unanswered" | "silence" | "too_long";

export interface RefusedRecord {
  readonly seq: Seq;
  readonly reason: string;
  readonly cause: RefusalCause;
}

/** A record that the service didn't take when it was offered last. */
export interface WaitingRecord extends RefusedRecord {
  /** Mono of the first refusal. */
  readonly since: Milliseconds;
  /** Wall clock time of the last refusal. */
  readonly at: EpochMs;
}

/** Silence of the whole service is no refusal of one record, so the time counts from the last such silence. */
export function waitingAfter(
  before: WaitingRecord | undefined,
  refused: RefusedRecord,
  { mono, at }: { readonly mono: Milliseconds; readonly at: EpochMs },
): WaitingRecord {
  const since = refused.cause === "silence" ? mono : (before?.since ?? mono);
  return { ...refused, since, at };
}

/**
 * Returns whether the refusal is accepted, so that the record is set aside: after a day, or at once if the binding ends, because then
 * the service may rightly refuse the last records. A limit on a message's size says nothing about the record.
 */
export function isRefusedForGood(
  { cause, since }: WaitingRecord,
  { mono, isEnding }: { readonly mono: Milliseconds; readonly isEnding: boolean },
): boolean {
  if (cause === "too_long") return false;
  return mono - since >= REFUSED_FOR_MS || (isEnding && cause !== "silence");
}

type Waiting = ReadonlyMap<Seq, WaitingRecord>;

/** Returns the records that the service refuses: those set aside and those that wait. */
export function allRefused(aside: RefusedRecords, waiting: Waiting): RefusedRecords {
  const refused = [...waiting.values()].filter(({ cause }) => cause !== "too_long");
  const newest = refused.reduce<RefusedRecords["newest"]>(
    (last, { seq, at, reason }) => (last === null || seq > last.seq ? { seq, at, reason } : last),
    aside.newest,
  );
  return { count: aside.count + refused.length, newest };
}

export function tooLongOf(waiting: Waiting): TooLongRecords | null {
  const long = [...waiting.values()].filter(({ cause }) => cause === "too_long");
  const newest = long.at(-1);
  return newest === undefined ? null : { count: long.length, newest: { seq: newest.seq, reason: newest.reason } };
}

/** The service claims that it holds another record under `seq`. `held_seq`: the newest record that it holds, by its own word. */
export interface Conflict {
  readonly seq: Seq;
  readonly held_seq: Seq;
  /** Mono at which the service named this seq first. */
  readonly since: Milliseconds;
}

export function conflictAfter(
  before: Conflict | null,
  { seq, held_seq }: Omit<Conflict, "since">,
  mono: Milliseconds,
): Conflict {
  return { seq, held_seq, since: before?.seq === seq ? before.since : mono };
}

/** Returns from when on a conflict gives the log a new name: after an hour, and once in 24 h at most, because a service that lies could demand names without end. */
export function newNameAt(
  { since }: Conflict,
  label: StreamLabel | null,
  { mono, at }: { readonly mono: Milliseconds; readonly at: EpochMs },
): EpochMs {
  const believed = at + Math.max(0, since + IN_CONFLICT_FOR_MS - mono);
  const last = label?.forked_at;
  // A time in the future was given by a clock that was wrong, and must not hold anything up for years.
  return last === undefined || last > at ? believed : Math.max(believed, last + DAY_MS);
}

/** The records that a service holds otherwise than this box: from the first that differs to the newest it has. */
export function heldSeqs({ seq, held_seq }: Conflict): HeldSeqs {
  return held_seq < seq ? { from: seq } : { from: seq, to: held_seq };
}

/** Returns from which seq on a salvaged log waits for a new name; null: it doesn't. */
export function newNameFrom(
  { stream }: { readonly stream: StreamLabel | null },
  { renew_from = 0 }: Pick<LogReach, "renew_from">,
): Seq | null {
  return renew_from > (stream?.from_seq ?? 0) ? renew_from : null;
}

/** After a chunk that came to nothing only batches are sent for so long: a refused chunk costs its range a second time. */
export const WITHOUT_CHUNKS_MS: Milliseconds = 10 * MINUTE_MS;
