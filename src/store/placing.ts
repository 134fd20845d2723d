import { placesOf } from "../core/derive/placing.ts";
import type { LogRecord, Placed, Stored } from "../core/types/record.ts";
import { foldOne, type Commit, type IngestTools } from "./commit.ts";
import { packLog, runsOf, unpackLog } from "./rows.ts";
import type { LiveStream } from "./streams.ts";

/** Rows placed at a time: bounds the memory after weeks without a sync. */
const PLACE_ROWS = 200;

/**
 * Inside a commit's transaction: gives everything that waits its place in time, as `sync` says, and folds it from where the
 * time was known last. Its facts come after the sync in seq, as all seqs before are taken. Nothing of it has been sent, so
 * its rows may still change: a record whose place is inferred becomes uncertain.
 */
export function placeWaiting(
  { sql, fold }: IngestTools,
  live: LiveStream,
  { commit, sync }: { commit: Commit; sync: Stored<LogRecord> },
): void {
  const { stream } = live.info;
  const places = placesOf(fold.knownTime(live.fold), live.hold, sync);
  const unsure = new Set(places.filter(({ uncertain }) => uncertain).map(({ boot }) => boot));
  for (const { boot, offset, uncertain } of places) {
    sql.addBootPlace.run({ stream, boot, offset, uncertain: uncertain ? 1 : 0 });
  }
  live.fold = fold.place(live.fold, places);
  for (;;) {
    const rows = sql.firstWaitingRows.all({ stream, rows: PLACE_ROWS });
    if (rows.length === 0) break;
    for (const row of rows) {
      const placed = unpackLog(row).map((record): Placed<LogRecord> => {
        const quality = unsure.has(record.boot) && record.quality === "good" ? "uncertain" : record.quality;
        return foldOne(fold, live, { commit, record: { ...record, quality } });
      });
      sql.dropLogRow.run({ stream, seq: row.first_seq });
      for (const run of runsOf(placed)) sql.addLogRow.run(packLog(stream, run, true));
    }
  }
  live.hold = [];
  live.shown = null;
  commit.placed = true;
}
