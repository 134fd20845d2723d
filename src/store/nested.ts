import type { Database } from "better-sqlite3";

interface Row {
  readonly stream_id: string;
  readonly first_seq: number;
  readonly last_seq: number;
}

/** Drops log rows whose records a chunk holds as well: pages that nobody uses any more still show them. */
export function dropNested(db: Database): void {
  const drop = db.prepare<[Row]>(`DELETE FROM log WHERE stream_id = @stream_id AND first_seq = @first_seq`);
  const rows = db
    .prepare<[], Row>(`SELECT stream_id, first_seq, last_seq FROM log ORDER BY stream_id, first_seq`)
    .all();
  let widest: Row | undefined;
  for (const row of rows) {
    if (widest?.stream_id === row.stream_id && row.last_seq <= widest.last_seq) drop.run(row);
    else widest = row;
  }
}
