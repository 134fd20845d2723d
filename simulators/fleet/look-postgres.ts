import { gunzipSync, zstdDecompressSync } from "node:zlib";
import { Client } from "pg";
import { canonical, contentLine } from "../service/ingest/canonical.ts";
import { isChunk, offeredOf, parseMessage } from "../service/ingest/chunk-message.ts";
import type { HeldStream, StoredLine, StoreLook } from "./account.ts";

/**
 * Reads rows and segments as ranges. Their union is the held range; their sum counts duplicates twice. The records of
 * a segment that are not readings, coverage or events are stored as rows too; these rows are no duplicates.
 */
const HELD = `WITH alone AS (
    SELECT stream_no, seq FROM records r WHERE kind IN ('r', 'h', 'e') OR NOT EXISTS (
      SELECT FROM segments g WHERE g.stream_no = r.stream_no AND r.seq BETWEEN g.from_seq AND g.to_seq)),
  lies AS (
    SELECT stream_no, int8range(from_seq, to_seq, '[]') AS seqs, to_seq - from_seq + 1 AS n FROM segments
    UNION ALL SELECT stream_no, int8range(min(seq), max(seq), '[]'), count(*) FROM (
      SELECT stream_no, seq, seq - row_number() OVER (PARTITION BY stream_no ORDER BY seq) AS run FROM alone) r GROUP BY stream_no, run)
  SELECT s.stream_id, range_agg(seqs)::text AS seqs, sum(n)::float8 AS n FROM lies JOIN streams s ON s.id = stream_no GROUP BY s.stream_id`;
const ROWS = `SELECT r.seq::float8 AS seq, r.kind, t.name AS tag, b.name AS boot, r.mono, r.value, r.quality FROM records r
  JOIN streams s ON s.id = r.stream_no JOIN names t ON t.id = r.tag JOIN names b ON b.id = r.boot WHERE s.stream_id = $1`;
const MESSAGES = `SELECT g.message FROM segments g JOIN streams s ON s.id = g.stream_no WHERE s.stream_id = $1`;

const GZIP = 0x1f;

/** Opens the fleet's database over its own connection. */
export async function lookIntoPostgres(url: string): Promise<StoreLook> {
  const client = new Client({ connectionString: url });
  await client.connect();
  return {
    async held() {
      const { rows } = await client.query<{ stream_id: string; seqs: string; n: number }>(HELD);
      return new Map(
        rows.map(({ stream_id, seqs, n }): [string, HeldStream] => [stream_id, { ranges: rangesOf(seqs), records: n }]),
      );
    },
    async contents(stream) {
      const { rows } = await client.query<Parameters<typeof contentLine>[0] & { readonly seq: number }>(ROWS, [stream]);
      const segments = await client.query<{ message: Buffer }>(MESSAGES, [stream]);
      const lines = rows.map((row) => ({ seq: row.seq, line: contentLine(row) }));
      return [...lines, ...segments.rows.flatMap(({ message }) => linesOf(message))];
    },
    close: () => client.end(),
  };
}

/** Parses "{[1,52),[60,103)}". */
function rangesOf(text: string): readonly (readonly [number, number])[] {
  return [...text.matchAll(/\[(\d+),(\d+)\)/g)].map(([, from, end]) => [Number(from), Number(end) - 1]);
}

interface Columns {
  readonly s0: number;
  readonly mono0: number;
  readonly boot: string;
  readonly tags: readonly string[];
  readonly k: readonly string[];
  readonly g: readonly number[];
  readonly dt: readonly number[];
  readonly val: readonly unknown[];
  readonly q: readonly (readonly [number, string])[];
}

/**
 * Decodes a segment: a batch as it was sent (docs/reference/wire.md), or a segment that the service compacted, for
 * which only the service has code.
 */
export function linesOf(message: Buffer): readonly StoredLine[] {
  if (!isChunk(message)) return linesOfBatch(message);
  const chunk = parseMessage(message);
  if ("error" in chunk) throw new Error(`a segment can't be read: ${chunk.error}`);
  return offeredOf(chunk).map((record) => ({ seq: record.seq, line: contentLine(record) }));
}

function linesOfBatch(message: Buffer): readonly StoredLine[] {
  const text = (message[0] === GZIP ? gunzipSync(message) : zstdDecompressSync(message)).toString("utf8");
  const { s0, mono0, boot, tags, k, g, dt, val, q } = JSON.parse(text) as Columns;
  const qualities = new Map(q);
  return k.map((kind, index) => {
    const record = { kind, boot, tag: tags[g[index] ?? -1] ?? "", mono: mono0 + (dt[index] ?? NaN) };
    const value = canonical(val[index] ?? null);
    return { seq: s0 + index, line: contentLine({ ...record, value, quality: qualities.get(index) ?? "good" }) };
  });
}
