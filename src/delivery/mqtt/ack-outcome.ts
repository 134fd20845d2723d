import type { Placed } from "../../domain/record.ts";
import type { BatchOutcome, Rejection } from "../port.ts";
import type { Seq } from "../../domain/units.ts";
import { hashOf } from "../../contract/hash.ts";
import type { AckWire } from "../../contract/telemetry.ts";

/** A batch that waits for its ack. */
export interface SentBatch {
  readonly stream: string;
  readonly records: readonly Placed[];
}

/** What an ack says of a batch. `unclear`: something was refused, and it may or may not be this one. */
export type AckedBatch = BatchOutcome | { readonly kind: "unclear"; readonly reason: string };

/** What is wrong with a batch itself: sent again as it is it would be refused again. */
const CONTENT_REFUSED = /^(malformed|too_large)/;

/**
 * What the ack means for this batch; null: nothing. `alone`: no other batch is under way, so that an ack which names none
 * can be meant for this one only. Pure.
 */
export function outcomeOf(ack: AckWire, batch: SentBatch, alone: boolean): AckedBatch | null {
  if (ack.error !== "") return refusalOf(ack, batch, alone);
  const isNamed = ack.st === batch.stream && ack.s0 === firstSeq(batch) && ack.n === batch.records.length;
  if (!isNamed) return null;
  const conflict = ack.conflict !== null && isIn(batch, ack.conflict) ? ack.conflict : null;
  const rejected = rejectedOf(ack, batch);
  // From a conflict on nothing of the batch was stored.
  const looked = conflict === null ? batch.records : batch.records.filter(({ seq }) => seq < conflict);
  const stored = looked.filter(({ seq }) => !rejected.has(seq));
  if (ack.hash !== hashOf(stored))
    return { kind: "keep", reason: "the service's ack has another hash than what was sent" };
  const proof = {
    rejected: looked.flatMap(({ seq }) => rejected.get(seq) ?? []),
    is_proven: stored.length > 0,
    held_seq: ack.newest_seq ?? ack.acked_seq ?? 0,
  };
  return conflict === null ? { kind: "acked", ...proof } : { kind: "conflict", ...proof, seq: conflict };
}

/** By seq; a list longer than the batch makes no sense, and counts as absent. */
function rejectedOf(ack: AckWire, batch: SentBatch): ReadonlyMap<Seq, Rejection> {
  const list = ack.reject.length > batch.records.length ? [] : ack.reject;
  return new Map(list.map((entry) => [entry.seq, entry]));
}

/** The ack's hash shows that it is of this batch, and by a service that has it: what else it says may be heard. */
export function isProven(outcome: AckedBatch): boolean {
  return (outcome.kind === "acked" || outcome.kind === "conflict") && outcome.is_proven;
}

function refusalOf(ack: AckWire, batch: SentBatch, alone: boolean): AckedBatch | null {
  const isOfStream = ack.st === batch.stream;
  if (!isOfStream && ack.st !== "") return null;
  const reason = `the service took nothing: ${ack.error}`;
  if (!CONTENT_REFUSED.test(ack.error)) return { kind: "keep", reason };
  const namesNone = !isOfStream || ack.s0 === 0;
  if (namesNone) return alone ? { kind: "refused", reason: ack.error } : { kind: "unclear", reason };
  return ack.s0 === firstSeq(batch) ? { kind: "refused", reason: ack.error } : null;
}

function firstSeq({ records }: SentBatch): number {
  return records[0]?.seq ?? 0;
}

function isIn({ records }: SentBatch, seq: number): boolean {
  return seq >= (records[0]?.seq ?? Infinity) && seq <= (records.at(-1)?.seq ?? 0);
}
