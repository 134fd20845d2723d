import type { Database } from "better-sqlite3";
import { createSnapshots } from "../facts/snapshots.ts";
import type { Span } from "../log/missing.ts";
import { mustHoldTogether, StoreDamaged } from "../open.ts";
import { createQuarantine } from "../retention/quarantine.ts";
import type { Finding } from "./find.ts";

/**
 * Mends what was found in a piece of an open store: damaged rows are taken out, what is missing by that is noted, and indexes are made
 * anew; again: no change. `isAll`: nothing more can be found, as after a salvage. Throws StoreDamaged where that isn't enough, as where
 * rows are missing though none is damaged: the file hides them, and a salvage may find them.
 */
export function mend(db: Database, found: Finding, isAll = false): void {
  if (found.kind === "records") mendRecords(db, found, isAll);
  else if (found.kind === "beside") mendBeside(db, found);
  else if (found.problems.length > 0) mustHoldTogether(db);
}

type RecordsFinding = Extract<Finding, { kind: "records" }>;

function mendRecords(db: Database, found: RecordsFinding, isAll: boolean): void {
  const { info, damaged_rows, damaged_facts, missing } = found;
  const [hidden] = missing;
  const isDamaged = damaged_rows.length + damaged_facts.length > 0;
  if (isDamaged) mustHoldTogether(db);
  else if (hidden !== undefined && !isAll) {
    const [from, to] = hidden.map(String);
    throw new StoreDamaged(`the store is damaged: it doesn't show records ${from} to ${to} of stream ${info.stream}`);
  }
  if (isDamaged || hidden !== undefined) db.transaction(takeOut)(db, found);
  for (const index of found.brokenIndexes()) db.exec(`REINDEX ${index}`);
}

/** Damaged rows go, and what isn't there is noted. */
function takeOut(db: Database, { part, info, damaged_rows, damaged_facts, missing }: RecordsFinding): void {
  const { stream, acked_seq } = info;
  const dropRow = db.prepare<[string, number]>("DELETE FROM log WHERE stream_id = ? AND first_seq = ?");
  const dropFact = db.prepare<[string, number]>("DELETE FROM fact WHERE stream_id = ? AND seq = ?");
  for (const { first_seq } of damaged_rows) mustDrop(dropRow.run(stream, first_seq).changes);
  for (const { seq } of damaged_facts) mustDrop(dropFact.run(stream, seq).changes);
  const quarantine = createQuarantine(db);
  // Among rows damaged facts are missing as records are.
  const alone: readonly Span[] = part === "facts" ? damaged_facts.map(({ seq }) => [seq, seq]) : [];
  for (const range of [...alone, ...missing]) quarantine.note(stream, ...range);
  if (part === "rows" && missing.some(([, last]) => last > acked_seq)) quarantine.declareAgain(stream, acked_seq);
}

function mustDrop(changes: number): void {
  if (changes !== 1) throw new StoreDamaged("the store is damaged: a row can't be found by its key");
}

/** What an index doesn't show is still in the table. Of snapshots the next commit keeps another. */
function mendBeside(db: Database, { stream, snapshots, unreadable }: Extract<Finding, { kind: "beside" }>): void {
  if (unreadable !== null) db.exec("REINDEX fact_by_time");
  if (snapshots.length === 0) return;
  mustHoldTogether(db);
  const kept = createSnapshots(db);
  db.transaction(() => {
    for (const seq of snapshots) mustDrop(kept.drop(stream, seq));
  })();
}
