import type { Text } from "../../domain/message.ts";
import type { LogReach } from "../../domain/booth-state.ts";
import type { HeldSeqs, StreamLabel } from "../../domain/provisioning.ts";
import type { RefusedRecords, TooLongRecords } from "../../domain/status.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../domain/time.ts";
import type { EpochMs, Milliseconds, Seq } from "../../domain/units.ts";

/**
 * The rule for a service that is wrong. A service may refuse a record, leave it unanswered, or claim that it holds another record
 * under the same seq. No such answer is final at once: the record stays unacked and is offered again every five minutes. A refused or
 * unanswered record delays no other. After a conflict the booth's delivery rests until the next offer. A refusal is accepted after a
 * day: the record is set aside. A conflict is accepted after an hour: the log gets a new name at the service.
 */
export const RETRY_MS: Milliseconds = 5 * MINUTE_MS;
const REFUSED_FOR_MS: Milliseconds = DAY_MS;
const IN_CONFLICT_FOR_MS: Milliseconds = HOUR_MS;

/** Refusals in a row after which a booth's delivery rests until the next offer: a service that refuses everything costs little traffic. */
export const MOST_REFUSALS = 50;
/** Most waiting records; with more, delivery rests until the next offer. The store keeps as many records that were set aside. */
export const MOST_WAITING = 10_000;

/**
 * The reason why a record waits.
 * - named: the ack of a batch names it.
 * - whole: the service refuses a batch of this record alone.
 * - unanswered: no ack came for it alone, though the service acked another batch of the session.
 * - silence: no ack came for it alone, and none in the whole session.
 * - too_long: it is longer than a message may be.
 */
export type RefusalCause = "named" | "whole" | "unanswered" | "silence" | "too_long";

export interface RefusedRecord {
  readonly seq: Seq;
  readonly reason: Text;
  readonly cause: RefusalCause;
}

/** A record that the service didn't take when it was offered last. */
export interface WaitingRecord extends RefusedRecord {
  /** Mono of the first refusal. */
  readonly since: Milliseconds;
  /** Wall clock time of the last refusal. */
  readonly at: EpochMs;
}

/** Returns a waiting record after another refusal. Silence of the whole service is no refusal of one record, and restarts its time. */
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

/** A claim of the service that it holds another record under `seq`. `held_seq`: the newest record that it claims to hold. */
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

/** Returns the time from which on a conflict gives the log a new name: after an hour, and at most once in 24 h, to limit a faulty service. */
export function newNameAt(
  { since }: Conflict,
  label: StreamLabel | null,
  { mono, at }: { readonly mono: Milliseconds; readonly at: EpochMs },
): EpochMs {
  const accepted_at = at + Math.max(0, since + IN_CONFLICT_FOR_MS - mono);
  const last = label?.forked_at;
  // A time in the future came from a wrong clock, and must not block the name for years.
  return last === undefined || last > at ? accepted_at : Math.max(accepted_at, last + DAY_MS);
}

/** Returns the records that differ between service and box: from the first difference to the newest that the service has. */
export function heldSeqs({ seq, held_seq }: Conflict): HeldSeqs {
  return held_seq < seq ? { from: seq } : { from: seq, to: held_seq };
}

/** Returns the seq from which on a salvaged log needs a new name; null: it needs none. */
export function newNameFrom(
  { stream }: { readonly stream: StreamLabel | null },
  { renew_from = 0 }: Pick<LogReach, "renew_from">,
): Seq | null {
  return renew_from > (stream?.from_seq ?? 0) ? renew_from : null;
}

/** Time after a failed chunk in which only batches are sent, because each failed chunk is sent a second time as batches. */
export const WITHOUT_CHUNKS_MS: Milliseconds = 10 * MINUTE_MS;
