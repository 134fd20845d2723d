import { message, type Text } from "../domain/message.ts";
import type { HeldSeqs, StreamLabel } from "../domain/provisioning.ts";
import type { Trouble } from "../domain/status.ts";
import { DAY_MS } from "../domain/time.ts";
import type { BoothId, EpochMs, Milliseconds } from "../domain/units.ts";
import type { DeliveredBooth, DeliveryGateway } from "./context.ts";
import { type Conflict, heldSeqs, newNameAt, type RefusedRecord } from "./rules/refusals.ts";

type Gateway = Pick<DeliveryGateway, "log">;

export function sayRefused({ log }: Gateway, { state }: DeliveredBooth, refused: readonly RefusedRecord[]): void {
  const { booth } = state;
  const { seq = 0, reason = "", cause } = refused[0] ?? {};
  const isTooLong = cause === "too_long";
  const event = isTooLong ? "record_too_long" : "not_taken";
  const todo = isTooLong ? message("log.too_long_todo") : message("log.refused_todo");
  const text = message("log.refused", { booth, records: recordsText(refused), reason, todo });
  log.warn({ event, booth, seq, records: refused.length, reason }, text);
  raiseNews(state);
}

export function saySetAside(
  { log }: Gateway,
  { state }: DeliveredBooth,
  refused: readonly Pick<RefusedRecord, "seq" | "reason">[],
): void {
  const { booth } = state;
  const { seq = 0, reason = "" } = refused[0] ?? {};
  const text = message("log.refused_for_good", { booth, records: recordsText(refused), reason });
  log.error({ event: "refused", booth, seq, records: refused.length, reason }, text);
  raiseNews(state);
}

function recordsText(refused: readonly Pick<RefusedRecord, "seq">[]): Text {
  const seq = refused[0]?.seq ?? 0;
  const more = refused.length - 1;
  return more <= 0 ? message("log.record", { seq }) : message("log.record_more", { seq, more });
}

/** Wakes the loops that wait for news. Also requests the booth's provisioning record again, because it may say why the service rejects readings. */
function raiseNews({ binding, news }: DeliveredBooth["state"]): void {
  binding.lookAgain();
  news.raise();
}

export function sayConflict({ log }: Gateway, { state: { booth, news } }: DeliveredBooth, due: DueName): void {
  log.warn({ event: "conflict", booth, seqs: due.seqs }, textOf(booth, conflictTrouble(due)));
  news.raise();
}

export function sayForked({ log }: Gateway, { state: { booth, news } }: DeliveredBooth, fork: Fork): void {
  log.warn({ event: "forked", booth, seqs: fork.seqs }, textOf(booth, forkedTrouble(fork)));
  news.raise();
}

function textOf(booth: BoothId, { reason, advice }: Trouble): Text {
  return message("text.at", { place: booth, text: message("text.todo", { text: reason, todo: advice }) });
}

/** A new name that the log will get if the service still claims the conflict at `due_at`. */
interface DueName {
  readonly seqs: HeldSeqs;
  readonly due_at: EpochMs;
}

interface Fork {
  readonly seqs: HeldSeqs;
  readonly at: EpochMs;
}

/** Time for which `status` shows a new name. */
const SHOWN_MS: Milliseconds = 30 * DAY_MS;

/** Returns the fault of a log's name at the service; null: there is no fault. */
export function forkTrouble(
  label: StreamLabel | null,
  conflict: Conflict | null,
  now: { readonly mono: Milliseconds; readonly at: EpochMs },
): Trouble | null {
  if (conflict !== null) return conflictTrouble({ seqs: heldSeqs(conflict), due_at: newNameAt(conflict, label, now) });
  const at = label?.forked_at;
  if (label === null || at === undefined || now.at - at > SHOWN_MS) return null;
  return forkedTrouble({ seqs: label.forked_seqs ?? { from: label.from_seq }, at });
}

function forkedTrouble({ seqs, at }: Fork): Trouble {
  return { reason: message("log.forked", { seqs: seqsText(seqs), at: minuteOf(at) }), advice: message("log.ask") };
}

function conflictTrouble({ seqs, due_at }: DueName): Trouble {
  return {
    reason: message("log.conflict", { seqs: seqsText(seqs), at: minuteOf(due_at) }),
    advice: message("log.ask_by_itself"),
  };
}

function seqsText({ from, to }: HeldSeqs): Text {
  if (to === undefined) return message("log.seqs_on", { from });
  return to === from ? message("log.seq", { from }) : message("log.seqs", { from, to });
}

/** Formats a time in UTC, down to the minute. */
function minuteOf(at: EpochMs): string {
  return new Date(at).toISOString().slice(0, 16).replace("T", " ");
}
