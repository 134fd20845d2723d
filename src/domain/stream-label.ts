import type { LogReach } from "./booth-state.ts";
import type { HeldSeqs, ProvisioningRow, StreamLabel } from "./provisioning.ts";
import type { EpochMs, Seq, StreamId } from "./units.ts";

/** Returns the present name of a log at the service, with the oldest record that has this name. */
export function labelOf(row: ProvisioningRow, log: Pick<LogReach, "stream" | "oldest_seq">) {
  return {
    stream: row.stream?.id ?? log.stream,
    oldest_seq: Math.max(log.oldest_seq, row.stream?.from_seq ?? 0),
    predecessor: row.stream?.predecessor ?? null,
  };
}

/** A new name of the log at the service, with the first seq that has this name. `stream`: the log's own name. */
export interface NewName {
  readonly from_seq: Seq;
  readonly stream: StreamId;
  readonly id: StreamId;
  /** Set if the service holds other records than ours under the same seqs; absent: the new name has another reason. */
  readonly forked?: { readonly at: EpochMs; readonly seqs: HeldSeqs };
}

/** Returns the stream label (name at the service and first seq) for a new name. The seqs of an earlier fork are kept. */
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
 * Repairs a stream label with an invalid seq. Such labels come from an agent that believed the service's report of a conflict at a seq that
 * doesn't exist. The new name then starts after the last seq acked under the previous name. Returns a valid label unchanged.
 */
export function mendedLabel(label: StreamLabel | null, acked_seq: Seq): StreamLabel | null {
  if (label === null || (label.from_seq >= 1 && (label.predecessor?.last_seq ?? 0) >= 0)) return label;
  const predecessor = label.predecessor === null ? null : { ...label.predecessor, last_seq: acked_seq };
  const booth_from_seq = Math.max(1, label.booth_from_seq ?? 1);
  return { ...label, from_seq: acked_seq + 1, predecessor, booth_from_seq };
}

/** Returns the name under which the service has the record with that seq: the log's name at that time, as far as names are still known. */
export function nameAt({ log, label }: LogNames, seq: Seq): StreamId {
  if (label === null) return log;
  return seq >= label.from_seq ? label.id : (label.predecessor?.stream_id ?? log);
}

export interface LogNames {
  /** The log's own name, which never changes. */
  readonly log: StreamId;
  readonly label: StreamLabel | null;
}
