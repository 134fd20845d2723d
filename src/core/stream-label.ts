import type { ProvisioningRow, StreamLabel } from "./types/provisioning.ts";
import type { Seq, StreamId } from "./types/units.ts";

/** What is known of a log here. */
interface KeptLog {
  readonly stream: StreamId;
  readonly oldest_seq: Seq;
}

/** The name under which a log goes to the service at present, with the oldest record that belongs under it. */
export function labelOf(
  row: ProvisioningRow,
  log: KeptLog,
): { readonly stream: StreamId; readonly oldest_seq: Seq; readonly predecessor: StreamLabel["predecessor"] } {
  return {
    stream: row.stream?.id ?? log.stream,
    oldest_seq: Math.max(log.oldest_seq, row.stream?.from_seq ?? 0),
    predecessor: row.stream?.predecessor ?? null,
  };
}

/** The oldest seq that belongs to the booth that the log is bound to: what came before is another booth's. */
export function boothFromSeq(stream: StreamLabel | null): Seq {
  if (stream === null) return 1;
  return stream.booth_from_seq ?? (stream.predecessor === null ? stream.from_seq : 1);
}
