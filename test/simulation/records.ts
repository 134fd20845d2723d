import { type Db, rows } from "../../simulators/service/db.ts";

/** A record as the service holds it. */
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

/** Every record of every stream, in order of stream and seq. */
export function heldRecords(db: Db): readonly Held[] {
  return rows<Omit<Held, "value"> & { readonly value: string }>(
    db,
    `SELECT s.stream_id AS stream, r.seq, r.kind, t.name AS tag, b.name AS boot, r.mono, r.time, r.value, r.quality, r.received_at
     FROM records r JOIN streams s ON s.id = r.stream_no JOIN names t ON t.id = r.tag JOIN names b ON b.id = r.boot
     ORDER BY r.stream_no, r.seq`,
  ).map((row) => ({ ...row, value: JSON.parse(row.value) as unknown }));
}

/** Ranges of a stream that were given up with a word, and of which something is missing. */
export interface GivenUp {
  readonly stream: string;
  readonly from: number;
  readonly to: number;
  readonly reason: string;
}

export function givenUp(db: Db): readonly GivenUp[] {
  return rows<GivenUp>(
    db,
    `SELECT s.stream_id AS stream, g.from_seq AS "from", g.to_seq AS "to", g.reason
     FROM seq_gaps g JOIN streams s ON s.id = g.stream_no
     WHERE g.to_seq - g.from_seq + 1 > (
       SELECT count(*) FROM records r WHERE r.gateway_id = s.gateway_id AND r.stream_no = s.id AND r.seq BETWEEN g.from_seq AND g.to_seq)
     ORDER BY g.stream_no, g.from_seq`,
  );
}

/** First seq of each stream that goes on from another one, as one does after a salvage. */
export function firstSeqs(db: Db): ReadonlyMap<string, number> {
  const found = rows<{ readonly stream: string; readonly first: number }>(
    db,
    "SELECT stream_id AS stream, first_seq AS first FROM streams WHERE predecessor_stream_id IS NOT NULL",
  );
  return new Map(found.map(({ stream, first }) => [stream, first]));
}
