import type { LogReach } from "../../domain/booth-state.ts";
import type { HeldSeqs, StreamLabel } from "../../domain/provisioning.ts";
import type { EpochMs, Milliseconds, Seq } from "../../domain/units.ts";

/**
 * A log goes on under another name at most once in this time. An old copy of the store is put back once, if ever; a service
 * that says so again has lost data of its own, or lies, and each name that it gets would be one more log without an end.
 */
const FORK_EVERY_MS: Milliseconds = 24 * 3_600_000;
/** A conflict that nothing can prove is believed when the service says the same for so long. */
const DOUBT_MS: Milliseconds = 3_600_000;
/** A conflict that stands on the service's word alone; `since`: mono at which it was heard first. */
export interface Doubt {
  readonly seq: Seq;
  readonly since: Milliseconds;
}

/** The service names a conflict that nothing proves: once more, or another one. */
export function doubtAfter(before: Doubt | null, seq: Seq, mono: Milliseconds): Doubt {
  return before?.seq === seq ? before : { seq, since: mono };
}

/** Only a word from an earlier session may be old enough: the one that hears it first ends over it. */
export function isBelieved(doubt: Doubt, mono: Milliseconds): boolean {
  return mono - doubt.since >= DOUBT_MS;
}

/** A new name that has to wait. */
export interface WaitingFork {
  readonly seqs: HeldSeqs;
  readonly until: EpochMs;
}

/** The records that a service holds otherwise than this box: from the first that differs to the newest it has. */
export function heldSeqs({ seq, held_seq }: { readonly seq: Seq; readonly held_seq: Seq }): HeldSeqs {
  return held_seq < seq ? { from: seq } : { from: seq, to: held_seq };
}

/** From when on the log may get another name; null: at once. */
export function nextForkAt(label: StreamLabel | null, now: EpochMs): EpochMs | null {
  const at = label?.forked_at;
  // One of the future was given by a clock that was wrong: it mustn't hold anything up for years.
  return at === undefined || at > now || now - at >= FORK_EVERY_MS ? null : at + FORK_EVERY_MS;
}

/** From where on a salvaged log waits for a new name; null: it doesn't. */
export function newNameFrom(
  { stream }: { readonly stream: StreamLabel | null },
  { renew_from = 0 }: Pick<LogReach, "renew_from">,
): Seq | null {
  return renew_from > (stream?.from_seq ?? 0) ? renew_from : null;
}

/** After an answer that isn't taken at its word a booth's delivery rests for so long, then asks again. */
export const REST_MS: Milliseconds = 300_000;
/** Records that are set aside at the service's first word, in `REST_MS`. Poison is rare: who refuses more may be out of order for a while. */
const AT_ONCE = 100;

/** What the service refused of late. */
export interface Refusing {
  /** Mono of the first of `records`. */
  readonly since: Milliseconds;
  readonly records: number;
  /** Refused beyond what is believed at once, from that seq on, and to be asked for again; null: nothing. */
  readonly asked: Seq | null;
}

/** The service refuses so many records, the first of them `seq`. Whether they are set aside; if not, they are offered again after a rest, and a service that refuses them then too is believed. */
export function afterRefusal(
  before: Refusing | null,
  { seq, records, mono }: { readonly seq: Seq; readonly records: number; readonly mono: Milliseconds },
): { readonly refusing: Refusing; readonly is_believed: boolean } {
  const recent = before !== null && mono - before.since < REST_MS ? before : { since: mono, records: 0 };
  const sum = recent.records + records;
  const is_believed = sum <= AT_ONCE || before?.asked === seq;
  return is_believed
    ? { refusing: { since: recent.since, records: sum, asked: null }, is_believed }
    : { refusing: { since: mono, records: recent.records, asked: seq }, is_believed };
}

/** A service that takes no chunk of so many in a row isn't offered more of them for a while: each costs what its range costs in batches once more. */
const FAILED_CHUNKS = 3;
const WITHOUT_CHUNKS_MS: Milliseconds = 3_600_000;

/** Chunks in a row that the service refused, or sessions that ended over one without an answer. */
export interface FailedChunks {
  readonly count: number;
  /** Mono of the last one. */
  readonly at: Milliseconds;
}

export function afterFailedChunk(before: FailedChunks | null, mono: Milliseconds): FailedChunks {
  return { count: (before?.count ?? 0) + 1, at: mono };
}

export function mayTryChunks(failed: FailedChunks | null, mono: Milliseconds): boolean {
  return failed === null || failed.count < FAILED_CHUNKS || mono - failed.at >= WITHOUT_CHUNKS_MS;
}
