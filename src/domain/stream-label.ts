import type { LogReach } from "./booth-state.ts";
import type { HeldSeqs, ProvisioningRow, StreamLabel } from "./provisioning.ts";
import type { EpochMs, Seq, StreamId } from "./units.ts";

/** Returns the present name of a log at the service, with the oldest record under it. */
export function labelOf(row: ProvisioningRow, log: Pick<LogReach, "stream" | "oldest_seq">) {
  return {
    stream: row.stream?.id ?? log.stream,
    oldest_seq: Math.max(log.oldest_seq, row.stream?.from_seq ?? 0),
    predecessor: row.stream?.predecessor ?? null,
  };
}

/** A new name of the log at the service, with the first seq under it. `stream`: the log's own name. */
export interface NewName {
  readonly from_seq: Seq;
  readonly stream: StreamId;
  readonly id: StreamId;
  /** The reason is that the service holds other records than ours; absent: the name has another reason. */
  readonly forked?: { readonly at: EpochMs; readonly seqs: HeldSeqs };
}

/** Returns the label of a new name. The seqs of an earlier fork are kept. */
export function renamed(before: StreamLabel | null, { from_seq, stream, id, forked }: NewName): StreamLabel {
  return {
    id,
    from_seq,
    predecessor: { stream_id: before?.id ?? stream, last_seq: from_seq - 1 },
    booth_from_seq: boothFromSeq(before),
    forked_at: forked?.at ?? before?.forked_at,
    forked_seqs: forked?.seqs ?? before?.forked_seqs,
  };
}

/** Returns the first seq of the bound booth. Earlier records belong to another booth. */
export function boothFromSeq(stream: StreamLabel | null): Seq {
  if (stream === null) return 1;
  return stream.booth_from_seq ?? (stream.predecessor === null ? stream.from_seq : 1);
}

/**
 * Repairs a label with an invalid seq, which an agent stored that believed the service's report of a conflict at a seq that does
 * not exist. The new name then begins after the last seq acked under the name before. Returns the same object if the label is
 * valid.
 */
export function mendedLabel(label: StreamLabel | null, acked_seq: Seq): StreamLabel | null {
  if (label === null || (label.from_seq >= 1 && (label.predecessor?.last_seq ?? 0) >= 0)) return label;
  const predecessor = label.predecessor === null ? null : { ...label.predecessor, last_seq: acked_seq };
  const booth_from_seq = Math.max(1, label.booth_from_seq ?? 1);
  return { ...label, from_seq: acked_seq + 1, predecessor, booth_from_seq };
}

/** Under which name the service has the record of that seq: the log's name then, of those that are still known. */
export function nameAt({ log, label }: LogNames, seq: Seq): StreamId {
  if (label === null) return log;
  return seq >= label.from_seq ? label.id : (label.predecessor?.stream_id ?? log);
}

export interface LogNames {
  /** Its own, for ever. */
  readonly log: StreamId;
  readonly label: StreamLabel | null;
}
