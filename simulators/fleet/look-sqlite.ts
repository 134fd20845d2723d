import { join } from "node:path";
import Database from "better-sqlite3";
import { contentLine } from "../service/ingest/canonical.ts";
import type { StoreLook } from "./account.ts";

/** Ranges of seqs among rows: consecutive seqs have the same difference from their row number. */
const RUNS = `SELECT s.stream_id, min(seq) AS a, max(seq) AS b, count(*) AS n FROM (
    SELECT stream_no, seq, seq - row_number() OVER (PARTITION BY stream_no ORDER BY seq) AS run FROM records
  ) r JOIN streams s ON s.id = r.stream_no GROUP BY r.stream_no, run ORDER BY a`;
const CONTENTS = `SELECT r.seq, r.kind, t.name AS tag, b.name AS boot, r.mono, r.value, r.quality FROM records r
  JOIN streams s ON s.id = r.stream_no JOIN names t ON t.id = r.tag JOIN names b ON b.id = r.boot
  WHERE s.stream_id = ? ORDER BY r.seq`;

interface Run {
  readonly stream_id: string;
  readonly a: number;
  readonly b: number;
  readonly n: number;
}

type Stored = Parameters<typeof contentLine>[0] & { readonly seq: number };

/** Opens the single-machine service's database. The fleet sends no chunks, so all records are rows. */
export function lookIntoSqlite(dataDir: string): StoreLook {
  const db = new Database(join(dataDir, "service.db"), { readonly: true });
  return {
    held() {
      const held = new Map<string, { ranges: (readonly [number, number])[]; records: number }>();
      for (const { stream_id, a, b, n } of db.prepare<[], Run>(RUNS).iterate()) {
        const stream = held.get(stream_id) ?? { ranges: [], records: 0 };
        stream.ranges.push([a, b]);
        stream.records += n;
        held.set(stream_id, stream);
      }
      return Promise.resolve(held);
    },
    contents(stream) {
      const rows = db.prepare<[string], Stored>(CONTENTS).all(stream);
      return Promise.resolve(rows.map((row) => ({ seq: row.seq, line: contentLine(row) })));
    },
    close() {
      db.close();
      return Promise.resolve();
    },
  };
}
