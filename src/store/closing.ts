import type { LogRecord, Placed } from "../core/types/record.ts";
import type { LostRange } from "./closing-statements.ts";
import { ifWhole, packLog, unpackLog, type LogRow } from "./rows.ts";
import type { Statements } from "./statements.ts";
import type { LiveStream } from "./streams.ts";

/** Half the size per change of a chunk of 500; a quarter of an hour of a busy booth, a night of a quiet one. */
const CHUNK_RECORDS = 4_000;
/** Bounds the memory, and the time that one commit spends on it. */
const CHUNK_ROWS = 2_500;

/**
 * Inside a commit's transaction, behind its rows: puts the oldest rows that no chunk holds yet into one, as soon as they make
 * a full one. Rows whose boot or clock offset changes begin another, as do those behind damaged ones that were taken out: seqs that
 * are missing inside a row are facts', and can be made anew. Those that wait for a sync, and all behind them, stay as they are; a
 * damaged one is left for the check to find.
 */
export function closeRows(sql: Statements, live: LiveStream, newest: number): void {
  if (newest - live.closed < CHUNK_RECORDS) return;
  const { stream } = live.info;
  const rows = sql.openRows.all({ stream, after: live.closed, rows: CHUNK_ROWS });
  const { chunk, records, upTo } = chunkOf(rows, sql.lostBehind.all({ stream, after: live.closed }));
  const [first, last] = [chunk[0], chunk.at(-1)];
  if (upTo === null) return;
  if (first !== undefined && last !== undefined && chunk.length > 1) {
    sql.dropLogRows.run({ stream, from: first.first_seq, to: last.first_seq });
    sql.addLogRow.run(packLog(stream, records, true));
  }
  live.closed = upTo;
  sql.moveClosed.run({ stream, closed: upTo });
}

/** The rows that go together, with their records; `upTo`: what then is done. null: the first one must wait. */
function chunkOf(
  rows: readonly LogRow[],
  lost: readonly LostRange[],
): {
  readonly chunk: readonly LogRow[];
  readonly records: readonly Placed<LogRecord>[];
  readonly upTo: number | null;
} {
  const chunk: LogRow[] = [];
  const records: Placed<LogRecord>[] = [];
  let upTo: number | null = null;
  for (const row of rows) {
    const [first] = chunk;
    const isOther = first !== undefined && (first.boot !== row.boot || first.t0 - first.mono0 !== row.t0 - row.mono0);
    const before = chunk.at(-1);
    const isApart = before !== undefined && lost.some((range) => isBetween(range, before, row));
    if (row.placed === 0 || isOther || isApart || records.length >= CHUNK_RECORDS) break;
    const held = ifWhole(unpackLog, row);
    if (held === undefined && first !== undefined) break;
    upTo = row.last_seq;
    if (held === undefined) break;
    chunk.push(row);
    records.push(...held);
  }
  return { chunk, records, upTo };
}

function isBetween({ from_seq, to_seq }: LostRange, before: LogRow, next: LogRow): boolean {
  return before.last_seq < from_seq && to_seq < next.first_seq;
}
