import type { Doubt, WaitingFork } from "./rules/fork.ts";
import type { HeldSeqs, StreamLabel } from "../domain/provisioning.ts";
import type { Trouble } from "../domain/status.ts";
import type { EpochMs, Milliseconds } from "../domain/units.ts";

/** So long people are told of a new name. */
const TOLD_MS: Milliseconds = 30 * 24 * 3_600_000;
const ASK = "ask whoever runs the service whether its data, or this box's, was put back from an old copy";

/** What the service says of a log's records, and what isn't settled. */
interface Unsettled {
  readonly waiting: WaitingFork | null;
  readonly doubt: Doubt | null;
}

/** What people are told of a log's names at the service; null: nothing. */
export function forkTrouble(label: StreamLabel | null, { waiting, doubt }: Unsettled, now: EpochMs): Trouble | null {
  if (waiting !== null) return waitingTrouble(waiting);
  if (doubt !== null) return doubtTrouble(doubt);
  const at = label?.forked_at;
  if (label === null || at === undefined || now - at > TOLD_MS) return null;
  return forkedTrouble(label.forked_seqs ?? { from: label.from_seq }, at);
}

export function forkedTrouble(seqs: HeldSeqs, at: EpochMs): Trouble {
  return {
    reason: `the service held other records than this box ${seqsText(seqs)}: since ${minuteOf(at)} the log goes under another name there`,
    advice: ASK,
  };
}

export function waitingTrouble({ seqs, until }: WaitingFork): Trouble {
  return {
    reason: `the service says again that it holds other records, ${seqsText(seqs)}: a second new name within a day waits until ${minuteOf(until)}, and so do the readings`,
    advice: `${ASK}; readings go on being kept, and delivery goes on by itself once the service takes them`,
  };
}

function doubtTrouble({ seq }: Doubt): Trouble {
  return {
    reason: `the service says that it holds another record under seq ${seq.toString()}, and doesn't prove it: readings wait until it takes them, or has said so for an hour`,
    advice: `${ASK}; readings go on being kept`,
  };
}

function seqsText({ from, to }: HeldSeqs): string {
  if (to === undefined) return `from seq ${from.toString()} on`;
  return to === from ? `under seq ${from.toString()}` : `under seq ${from.toString()} to ${to.toString()}`;
}

function minuteOf(at: EpochMs): string {
  return `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
