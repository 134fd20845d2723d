import type { Placed } from "../core/types/record.ts";
import type { BatchOutcome } from "../ports.ts";
import { hashOf } from "../wire/hash.ts";
import type { AckWire } from "../wire/telemetry.ts";

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
  if (ack.conflict !== null) return { kind: "conflict", seq: ack.conflict };
  const rejected = new Set(ack.reject.map(({ seq }) => seq));
  const stored = batch.records.filter(({ seq }) => !rejected.has(seq));
  return ack.hash === hashOf(stored)
    ? {
        kind: "acked",
        rejected: ack.reject.filter(({ seq }) => isIn(batch, seq)),
        held_seq: ack.newest_seq ?? ack.acked_seq,
      }
    : { kind: "keep", reason: "the service's ack has another hash than what was sent" };
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
