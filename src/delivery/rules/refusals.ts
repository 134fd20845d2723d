import type { Text } from "../../domain/message.ts";
import type { LogReach } from "../../domain/booth-state.ts";
import type { HeldSeqs, StreamLabel } from "../../domain/provisioning.ts";
import type { RefusedRecords, TooLongRecords } from "../../domain/status.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../domain/time.ts";
import type { EpochMs, Milliseconds, Seq } from "../../domain/units.ts";

/**
 * Time between two offers of a record that the service didn't accept.
 *
 * The rule for a faulty service: it may refuse a record, leave it unanswered, or claim a conflict (it holds another record under the same
 * seq). No such answer is final at once: the record stays unacked and is offered again. A refused or unanswered record doesn't delay other
 * records. After a conflict, the booth's delivery pauses until the next offer. A refusal is accepted after a day: the record is set aside.
 * A conflict is accepted after an hour: the log gets a new name at the service.
 */
export const RETRY_MS: Milliseconds = 5 * MINUTE_MS;
const REFUSED_FOR_MS: Milliseconds = DAY_MS;
const IN_CONFLICT_FOR_MS: Milliseconds = HOUR_MS;

/**
 * Number of refusals in a row after which a booth's delivery pauses until the next offer. So a service that refuses everything causes
 * little traffic.
 */
export const MOST_REFUSALS = 50;
/**
 * Maximum number of waiting records; with more, delivery pauses until the next offer. The store keeps as many records that were set aside.
 */
export const MOST_WAITING = 10_000;

/**
 * The reason why a record waits.
 * - named: the ack of a batch names the record as rejected.
 * - whole: the service refused a batch that had only this record.
 * - unanswered: the service didn't ack the record when it was sent alone, but acked another batch of the session.
 * - silence: the service didn't ack the record when it was sent alone, nor any batch of the session.
 * - too_long: the record exceeds the size limit of a message.
 */
export type RefusalCause = "named" | "whole" | "unanswered" | "silence" | "too_long";

export interface RefusedRecord {
  readonly seq: Seq;
  readonly reason: Text;
  readonly cause: RefusalCause;
}

/** A record that the service didn't accept at its last offer. */
export interface WaitingRecord extends RefusedRecord {
  /** Monotonic time of the first refusal. */
  readonly since: Milliseconds;
  /** Wall-clock time of the last refusal. */
  readonly at: EpochMs;
}

/**
 * Returns a waiting record after another refusal. If the whole service is silent, that is no refusal of the record, so its time starts
 * anew.
 */
export function waitingAfter(
  before: WaitingRecord | undefined,
  refused: RefusedRecord,
  { mono, at }: { readonly mono: Milliseconds; readonly at: EpochMs },
): WaitingRecord {
  const since = refused.cause === "silence" ? mono : (before?.since ?? mono);
  return { ...refused, since, at };
}

/**
 * Returns whether the refusal is accepted, so that the record is set aside. That is the case after a day, or at once if the binding is
 * ending, because the service may then rightly refuse the last records. A size limit of messages says nothing about the record, so a
 * refusal because of it is never accepted.
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

/** The service's claim that it holds another record under `seq`. `held_seq`: the newest record that the service claims to hold. */
export interface Conflict {
  readonly seq: Seq;
  readonly held_seq: Seq;
  /** Monotonic time at which the service first named this seq. */
  readonly since: Milliseconds;
}

export function conflictAfter(
  before: Conflict | null,
  { seq, held_seq }: Omit<Conflict, "since">,
  mono: Milliseconds,
): Conflict {
  return { seq, held_seq, since: before?.seq === seq ? before.since : mono };
}

/**
 * Returns the time at which a conflict gives the log a new name. That is after an hour, but at most once in 24 h, to limit the effect of a
 * faulty service.
 */
export function newNameAt(
  { since }: Conflict,
  label: StreamLabel | null,
  { mono, at }: { readonly mono: Milliseconds; readonly at: EpochMs },
): EpochMs {
  const accepted_at = at + Math.max(0, since + IN_CONFLICT_FOR_MS - mono);
  const last = label?.forked_at;
  // Ignores a time in the future, which came from a wrong clock and would block the name for years.
  return last === undefined || last > at ? accepted_at : Math.max(accepted_at, last + DAY_MS);
}

/** Returns the records that differ between service and gateway: from the first difference to the newest record of the service. */
export function heldSeqs({ seq, held_seq }: Conflict): HeldSeqs {
  return held_seq < seq ? { from: seq } : { from: seq, to: held_seq };
}

/** Returns the seq from which on a salvaged log needs a new name; null: it doesn't need a new name. */
export function newNameFrom(
  { stream }: { readonly stream: StreamLabel | null },
  { renew_from = 0 }: Pick<LogReach, "renew_from">,
): Seq | null {
  return renew_from > (stream?.from_seq ?? 0) ? renew_from : null;
}

/**
 * Time after a failed chunk in which only batches are sent. It limits the traffic, because the records of each failed chunk are sent again
 * as batches.
 */
export const WITHOUT_CHUNKS_MS: Milliseconds = 10 * MINUTE_MS;
