import { type Db, inSnapshot, rows } from "../storage/db.ts";
import { lengthOf, unheldIn } from "../ingest/lacking.ts";
import { heldSeqs } from "../ingest/records.ts";

/** The exact contents of a stored stream. */
export interface OracleStream {
  readonly gateway_id: string;
  readonly stream_id: string;
  readonly serial: string;
  readonly generation: number;
  readonly count: number;
  /** Stored seqs as inclusive ranges in order. */
  readonly ranges: readonly (readonly [number, number])[];
  readonly duplicates_offered: number;
  readonly conflicts_offered: number;
  readonly gaps: readonly { readonly from: number; readonly to: number; readonly reason: string }[];
  readonly rejected: readonly { readonly seq: number; readonly reason: string }[];
  readonly acked_seq: number;
  /** Number of records below the gateway's stated cursor that the service lacks. */
  readonly lacks: number;
  readonly withdrawn: boolean;
}

interface Row {
  readonly id: number;
  readonly gateway_id: string;
  readonly stream_id: string;
  readonly serial: string;
  readonly generation: number;
  readonly duplicates_offered: number;
  readonly conflicts_offered: number;
  readonly acked_seq: number;
  readonly lacks_below: number;
  readonly withdrawn_at: number | null;
}

interface GapRow {
  readonly from_seq: number;
  readonly to_seq: number;
  readonly reason: string;
  readonly rejected: number;
}

/** Returns every stream with the exact set of its stored records, read from the records themselves. */
export function oracle(db: Db): OracleStream[] {
  const sql = "SELECT s.*, b.serial_number AS serial FROM streams s JOIN booths b ON b.id = s.booth_id ORDER BY s.id";
  return rows<Row>(db, sql).map((stream) => {
    const {
      id,
      withdrawn_at,
      gateway_id,
      stream_id,
      serial,
      generation,
      duplicates_offered,
      conflicts_offered,
      acked_seq,
      lacks_below,
    } = stream;
    const ranges = inSnapshot(db, () => heldSeqs(db, stream));
    const gaps = rows<GapRow>(db, "SELECT * FROM seq_gaps WHERE stream_no = ? ORDER BY from_seq", id);
    return {
      gateway_id,
      stream_id,
      serial,
      generation,
      duplicates_offered,
      conflicts_offered,
      acked_seq,
      lacks: lacks_below > acked_seq ? lengthOf(unheldIn(db, stream, [acked_seq + 1, lacks_below])) : 0,
      count: ranges.reduce((sum, [from, to]) => sum + to - from + 1, 0),
      ranges,
      gaps: gaps
        .filter((gap) => gap.rejected === 0)
        .map(({ from_seq, to_seq, reason }) => ({ from: from_seq, to: to_seq, reason })),
      rejected: gaps.filter((gap) => gap.rejected === 1).map(({ from_seq, reason }) => ({ seq: from_seq, reason })),
      withdrawn: withdrawn_at !== null,
    };
  });
}
