import Database from "better-sqlite3";
import type { RebuildProgress } from "../../src/domain/rebuild.ts";
import type { StreamId } from "../../src/domain/units.ts";
import { storePath } from "../../src/store/open.ts";
import type { Writer } from "../../src/store/thread/writer.ts";

export type Rebuilt = Extract<RebuildProgress, { kind: "done" }>;

/** Runs a rebuild to its end. Throws if it fails. */
export function rebuild(writer: Writer, stream: StreamId, current = false): Rebuilt {
  writer.rebuild(stream, current);
  while (writer.rebuildSlice());
  const end = writer.rebuildProgress(stream);
  if (end?.kind !== "done") throw new Error(`the rebuild ended ${JSON.stringify(end)}`);
  return end;
}

/** Counts the facts that the rebuild changed. */
export function changedBy({ changes }: Rebuilt): number {
  return changes.reduce((sum, { added, replaced, withdrawn }) => sum + added + replaced + withdrawn, 0);
}

/** Returns all current facts of the store, byte for byte, in seq order. */
export function factRows(folder: string): unknown[] {
  const db = new Database(storePath(folder), { readonly: true });
  try {
    return db.prepare(`SELECT * FROM fact WHERE replaced = 0 ORDER BY seq`).all();
  } finally {
    db.close();
  }
}
