import { type Db, rows } from "../../simulators/service/storage/db.ts";
import { heldSeqs, recordsOf, type StreamKey } from "../../simulators/service/ingest/records.ts";

/** A record as the service stores it. */
export interface Held {
  readonly stream: string;
  readonly seq: number;
  readonly kind: string;
  readonly tag: string;
  readonly boot: string;
  readonly mono: number;
  /** Corrected time. */
  readonly time: number;
  readonly value: unknown;
  readonly quality: string;
  readonly received_at: number;
}

interface StreamNamed extends StreamKey {
  readonly stream_id: string;
}

function streamsOf(db: Db): StreamNamed[] {
  return rows<StreamNamed>(db, "SELECT id, gateway_id, stream_id FROM streams ORDER BY id");
}

/** Returns every record of every stream, in order of stream and seq: rows, and records inside stored chunks. */
export function heldRecords(db: Db): readonly Held[] {
  return streamsOf(db).flatMap((stream) => {
    const receivedAt = arrivals(db, stream);
    return Array.from(recordsOf(db, stream, {}), ([kind, tag, boot, mono, time, value, quality, seq]): Held => ({
      stream: stream.stream_id,
      seq,
      kind,
      tag,
      boot,
      mono,
      time,
      quality,
      received_at: receivedAt(seq),
      value: JSON.parse(value) as unknown,
    }));
  });
}

/** Returns a function for the arrival time of a record of the stream, by itself or in its chunk. */
function arrivals(db: Db, { id, gateway_id }: StreamNamed): (seq: number) => number {
  const ofRow = new Map(
    rows<{ readonly seq: number; readonly received_at: number }>(
      db,
      "SELECT seq, received_at FROM records WHERE gateway_id = ? AND stream_no = ?",
      ...[gateway_id, id],
    ).map(({ seq, received_at }) => [seq, received_at]),
  );
  const chunks = rows<{ readonly to_seq: number; readonly received_at: number }>(
    db,
    "SELECT to_seq, received_at FROM segments WHERE stream_no = ? ORDER BY to_seq",
    id,
  );
  return (seq) => ofRow.get(seq) ?? chunks.find(({ to_seq }) => to_seq >= seq)?.received_at ?? NaN;
}

/** Counts the stored seqs of the stream in from..to. */
export function countHeld(db: Db, stream: StreamKey, [from, to]: readonly [number, number]): number {
  return heldSeqs(db, stream).reduce(
    (sum, [first, last]) => sum + Math.max(0, Math.min(to, last) - Math.max(from, first) + 1),
    0,
  );
}

/** A range of a stream that was declared as dropped and isn't stored completely. */
export interface GivenUp {
  readonly stream: string;
  readonly from: number;
  readonly to: number;
  readonly reason: string;
}

export function givenUp(db: Db): readonly GivenUp[] {
  return streamsOf(db).flatMap((stream) => {
    const sql = `SELECT from_seq AS "from", to_seq AS "to", reason FROM seq_gaps WHERE stream_no = ? ORDER BY from_seq`;
    const gaps = rows<Omit<GivenUp, "stream">>(db, sql, stream.id);
    return gaps
      .filter(({ from, to }) => countHeld(db, stream, [from, to]) < to - from + 1)
      .map((gap) => ({ stream: stream.stream_id, ...gap }));
  });
}
