import type { LogRecord, Placed } from "../../domain/record.ts";
import type { Seq } from "../../domain/units.ts";
import type { StreamInfo, ContextRecords } from "../port.ts";
import { kindsIn } from "./pack.ts";
import { ifWhole, unpackLog, type LogRow } from "./rows.ts";
import type { ReadStatements } from "./statements.ts";

/** Log rows looked at for one answer: their heads alone, so it takes some milliseconds. */
const MOST_ROWS = 256;
const PAGE_ROWS = 32;

/** Finds parameter and clock records without unpacking what lies between them. */
export function contextRecordsIn(
  sql: Pick<ReadStatements, "logRowsFrom">,
  { stream, sendable_seq }: StreamInfo,
  ask: { readonly from: Seq; readonly end: Seq },
): ContextRecords {
  const end = Math.min(ask.end, sendable_seq);
  let next = ask.from;
  for (let looked = 0; looked < MOST_ROWS && next <= end;) {
    const page = sql.logRowsFrom.all({ stream, from: next, rows: PAGE_ROWS });
    const rows = page.filter(({ last_seq }) => last_seq >= next);
    for (const row of rows) {
      const found = mayHold(row) ? firstContextRecords(row, { from: next, end }) : [];
      const last = found.at(-1);
      if (last !== undefined) return { records: found, looked_to: last.seq };
      next = row.last_seq + 1;
    }
    if (page.length < PAGE_ROWS) return { records: [], looked_to: end };
    looked += PAGE_ROWS;
  }
  return { records: [], looked_to: Math.min(next - 1, end) };
}

function mayHold({ packed }: LogRow): boolean {
  const kinds = kindsIn(packed);
  return kinds === null || kinds.some((kind) => kind === "t" || kind === "p");
}

/** A damaged row holds none: the log's own reading finds and declares it. */
function firstContextRecords(
  row: LogRow,
  { from, end }: { readonly from: Seq; readonly end: Seq },
): Placed<LogRecord>[] {
  const records = (ifWhole(unpackLog, row) ?? []).filter(
    ({ kind, seq }) => (kind === "t" || kind === "p") && seq >= from && seq <= end,
  );
  const broken = records.findIndex(({ seq }, index) => index > 0 && seq !== (records[index - 1]?.seq ?? 0) + 1);
  return broken < 0 ? records : records.slice(0, broken);
}
