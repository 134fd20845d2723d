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
