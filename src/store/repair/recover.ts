import { existsSync, statSync } from "node:fs";
import Database from "better-sqlite3";
import { mustHoldTogether, StoreDamaged } from "./damage.ts";
import { openStoreFile, storePath } from "../open.ts";
import { originsIn } from "../log/origins.ts";
import { finishReplacing, freshPath, readyFresh } from "./replace.ts";
import { salvage, type Salvaged, type SalvageTools } from "./salvage.ts";
import { unpackState, type StateRow } from "../log/rows.ts";
import { readWal } from "./wal.ts";
import { prepareSchema, schemaOf, SCHEMA_VERSION } from "../schema.ts";

/** A salvage that was carried out because the file could not be used. */
export interface Recovery extends Salvaged {
  readonly reason: string;
  /** The damaged file; null: there was none. */
  readonly aside: string | null;
}

/** A store file that can be used, and what had to be done for it. */
export interface OpenedStore {
  readonly db: Database.Database;
  readonly recovery: Recovery | null;
}

/**
 * Opens the store of a data folder; where it is damaged beyond single rows it is set aside and salvaged into a new one. Throws where
 * the disk refuses, and where an agent of another schema wrote the file: it is then left alone.
 */
export function openOrSalvage(dataDir: string, tools: SalvageTools): OpenedStore {
  finishReplacing(dataDir, true);
  try {
    const { end } = readWal(storePath(dataDir));
    if (end === "hurt") {
      throw new StoreDamaged("the store is damaged: its write-ahead log breaks off before commits that it holds");
    }
    const db = openSound(dataDir);
    // What is left of the torn commit would look like a hurt one once a shorter commit stands before it.
    if (end === "torn") db.pragma("wal_checkpoint(TRUNCATE)");
    return { db, recovery: null };
  } catch (error) {
    if (!isDamageAtOpen(error)) throw error;
    const recovery = recover(dataDir, tools, error instanceof Error ? error.message : String(error));
    return { db: openSound(dataDir), recovery };
  }
}

/** Nobody has the file open. */
export function recover(dataDir: string, tools: SalvageTools, reason: string): Recovery {
  const known = { ...tools, origins: originsIn(dataDir) };
  const salvaged = salvage(storePath(dataDir), freshPath(dataDir), known);
  readyFresh(dataDir);
  return { ...salvaged, reason, aside: finishReplacing(dataDir, true) };
}

/** A larger file is looked through as a whole later on: polls wait for the start. */
const WHOLE_LOOK_BYTES = 64_000_000;

function openSound(dataDir: string): Database.Database {
  mustBeOurs(storePath(dataDir));
  const db = openStoreFile(dataDir);
  try {
    mustLookAsMade(db);
    const states = db.prepare<[], StateRow>("SELECT * FROM state").all();
    const isHurt = states.some((row) => unpackState(row) === undefined);
    if (isHurt || statSync(storePath(dataDir)).size <= WHOLE_LOOK_BYTES) mustHoldTogether(db);
    for (const table of ["stream", "state", "boot", "origin", "fork", "quarantine", "due", "base", "dead_letter"]) {
      const verdict = db.pragma(`quick_check('${table}')`, { simple: true });
      if (verdict !== "ok") throw new StoreDamaged(`the store is damaged: ${table}: ${String(verdict)}`);
    }
    if (db.prepare(DAMAGED_SMALL).get() !== undefined) {
      throw new StoreDamaged(
        "the store is damaged: a stream's row is gone, or that of a stream, a boot, an origin or of what was set aside doesn't fit its checksum",
      );
    }
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * Small tables whose rows nothing else would show to be wrong. A log whose stream isn't found, as under another booth's name, would
 * be left lying, and the booth would get a new one.
 */
const DAMAGED_SMALL = `SELECT 1 FROM stream
    WHERE sum <> row_sum(stream_id, booth_id, newest_seq, acked_seq, last_take, oldest_seq, facts_upto)
  UNION ALL SELECT 1 FROM origin WHERE stream_id NOT IN (SELECT stream_id FROM stream)
    AND EXISTS (SELECT 1 FROM log WHERE log.stream_id = origin.stream_id)
  UNION ALL SELECT 1 FROM boot WHERE sum <> row_sum(stream_id, boot, offset_ms, uncertain)
  UNION ALL SELECT 1 FROM origin WHERE sum <> row_sum(stream_id, booth_id, created_at)
  UNION ALL SELECT 1 FROM dead_letter WHERE sum <> row_sum(stream_id, seq, at, reason, record, declared)
  UNION ALL SELECT 1 FROM fork WHERE sum <> row_sum(stream_id, from_seq) LIMIT 1`;

/** A version number alone, under tables of ours, is no other agent's work. */
function mustBeOurs(path: string): void {
  if (!existsSync(path)) return;
  const db = new Database(path, { fileMustExist: true });
  try {
    const version = schemaOf(db);
    if (version !== SCHEMA_VERSION && schemaText(db) === ownSchema()) {
      throw new StoreDamaged(`the store is damaged: its version says ${version.toString()}, its tables don't`);
    }
  } finally {
    db.close();
  }
}

function mustLookAsMade(db: Database.Database): void {
  if (schemaText(db) !== ownSchema())
    throw new StoreDamaged("the store is damaged: its tables aren't as they were made");
}

function schemaText(db: Database.Database): string {
  return JSON.stringify(db.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name").all());
}

let own: string | undefined;

function ownSchema(): string {
  if (own !== undefined) return own;
  const db = new Database(":memory:");
  prepareSchema(db);
  own = schemaText(db);
  db.close();
  return own;
}

/** What the disk, not the file, is to blame for. */
const NOT_THE_FILE = /^SQLITE_(IOERR(?!_SHORT_READ)|FULL|READONLY|CANTOPEN|BUSY|LOCKED|NOMEM|PERM|AUTH|INTERRUPT)/;

/** At the opening nothing but our own fixed words have been said to SQLite: what it can't do with them is the file's fault. */
function isDamageAtOpen(error: unknown): boolean {
  if (error instanceof StoreDamaged) return true;
  return error instanceof Database.SqliteError && !NOT_THE_FILE.test(error.code);
}
