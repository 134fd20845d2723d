import { existsSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import type { BoothId, EpochMs, StreamId } from "../../domain/units.ts";

/** Which booth a stream of the log is of. */
export interface Origin {
  readonly stream: StreamId;
  readonly booth: BoothId;
  readonly created_at: EpochMs;
}

/** What a folder's identity knows of the log's streams; [] where it is gone, or of an agent that didn't note them. */
export function originsIn(dataDir: string): readonly Origin[] {
  const files = ["identity.db", "identity.copy.db"].map((name) => join(dataDir, name));
  return files.map(originsOf).find((origins) => origins.length > 0) ?? [];
}

function originsOf(file: string): readonly Origin[] {
  if (!existsSync(file)) return [];
  try {
    const db = new Database(file, { readonly: true, fileMustExist: true });
    try {
      return db.prepare<[], Origin>("SELECT stream_id AS stream, booth_id AS booth, created_at FROM origin").all();
    } finally {
      db.close();
    }
  } catch (error) {
    // Damaged, or without that table: the other file may have it, and without any a stream's booth stays unknown.
    if (error instanceof Database.SqliteError) return [];
    throw error;
  }
}
