import Database from "better-sqlite3";
import type { LogRecord, Placed } from "../core/types/record.ts";
import type { StreamId } from "../core/types/units.ts";
import type { StoreReader, Window } from "../ports.ts";
import type { Fold } from "./fold-port.ts";
import { storePath } from "./open.ts";
import { unpackFact, unpackLog, type FactRow, type LogRow } from "./rows.ts";
import { prepareReadStatements } from "./statements.ts";
import { infoOf, stateOf } from "./streams.ts";

/** Rows fetched at a time: no statement stays open between them, since an open one would keep the WAL from shrinking. */
const PAGE_ROWS = 100;

/**
 * Read-only view of a data folder's store, on a connection of its own. Throws where there is no store; a damaged row throws
 * DamagedRow. Close it when done.
 */
export function openReader(dataDir: string, fold: Fold): StoreReader & { close(): void } {
  const db = new Database(storePath(dataDir), { readonly: true, fileMustExist: true });
  const sql = prepareReadStatements(db);
  const facts = db.prepare<[{ stream: string; kind: string; start: number; end: number }], FactRow>(
    `SELECT * FROM fact WHERE stream_id = @stream AND kind = @kind AND start_ms < @end AND end_ms >= @start ORDER BY start_ms, seq`,
  );
  const logPage = db.prepare<[{ stream: string; after: number; rows: number }], LogRow>(
    `SELECT * FROM log WHERE stream_id = @stream AND first_seq > @after AND placed = 1 ORDER BY first_seq LIMIT @rows`,
  );
  const start = db.prepare<[{ stream: string; at: number }], { first_seq: number | null }>(
    `SELECT max(first_seq) AS first_seq FROM log WHERE stream_id = @stream AND t0 <= @at AND placed = 1`,
  );
  return {
    streams: () => sql.allStreams.all().map(infoOf),
    facts: (stream, kind, window) =>
      // A row's kind is what the caller asked for, and packFact wrote the shape of that kind.
      facts.all({ stream, kind, start: window.start, end: window.end }).map(unpackFact) as never,
    *log(stream, window) {
      const from = start.get({ stream, at: window.start })?.first_seq ?? 0;
      yield* logRows({ page: logPage, stream, after: from - 1 }, window);
    },
    state(stream) {
      const row = sql.streamById.get(stream);
      return row === undefined || row.newest_seq === 0 ? undefined : stateOf(sql, fold, row);
    },
    close: () => db.close(),
  };
}

interface LogScan {
  readonly page: Database.Statement<[{ stream: string; after: number; rows: number }], LogRow>;
  readonly stream: StreamId;
  readonly after: number;
}

/** Rows stand in time order within a stream, so the scan ends at the first that begins after the window. */
function* logRows(scan: LogScan, window: Window): Generator<Placed<LogRecord>> {
  let after = scan.after;
  for (;;) {
    const rows = scan.page.all({ stream: scan.stream, after, rows: PAGE_ROWS });
    for (const row of rows) {
      if (row.t0 >= window.end) return;
      yield* unpackLog(row).filter(({ time }) => time >= window.start && time < window.end);
      after = row.first_seq;
    }
    if (rows.length < PAGE_ROWS) return;
  }
}
