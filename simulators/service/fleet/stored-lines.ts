import type pg from "pg";
import { contentLine } from "../ingest/canonical.ts";
import { offeredOf, isChunk, parseMessage } from "../ingest/chunk-message.ts";
import { type Offered, takenRecords } from "../ingest/batch.ts";
import { unpack } from "../ingest/unpack.ts";

/** Seqs, both included. */
export type Range = [from: number, to: number];

/**
 * Returns the records of these ranges that segments hold, as content lines by stream and seq. Records that are only
 * rows are left out.
 */
export async function storedLines(
  client: pg.PoolClient,
  asked: readonly { readonly id: number; readonly range: Range }[],
): Promise<ReadonlyMap<number, Map<number, string>>> {
  // Whatever begins before a range may reach into it: the last of those does, or none.
  const sql = `SELECT DISTINCT ON (f.stream_no, f.from_seq) f.stream_no, f.message FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS w (id, first, last)
    CROSS JOIN LATERAL (
      (SELECT stream_no, from_seq, message FROM segments WHERE stream_no = w.id AND from_seq <= w.first ORDER BY from_seq DESC LIMIT 1)
      UNION ALL SELECT stream_no, from_seq, message FROM segments WHERE stream_no = w.id AND from_seq > w.first AND from_seq <= w.last
    ) AS f`;
  const columns = [asked.map(({ id }) => id), asked.map(({ range }) => range[0]), asked.map(({ range }) => range[1])];
  type Row = { readonly stream_no: number; readonly message: Uint8Array };
  const { rows } = await client.query<Row>({ name: "stored", text: sql, values: columns });
  const found = new Map<number, Map<number, string>>();
  for (const { stream_no, message } of rows) {
    let lines = found.get(stream_no);
    if (lines === undefined) found.set(stream_no, (lines = new Map<number, string>()));
    for (const record of recordsOf(message)) lines.set(record.seq, contentLine(record));
  }
  return found;
}

/** All that it came with, whatever of it is in rows as well. */
function recordsOf(message: Uint8Array): Iterable<Omit<Offered, "fault">> {
  if (isChunk(message)) {
    const chunk = parseMessage(message);
    return "error" in chunk ? [] : offeredOf(chunk);
  }
  const unpacked = unpack(message);
  return "error" in unpacked ? [] : takenRecords(unpacked.batch, () => true);
}
