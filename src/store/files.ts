import { chmodSync, existsSync, mkdirSync, statSync } from "node:fs";
import Database from "better-sqlite3";
import { find } from "./check.ts";
import { exportStore } from "./export.ts";
import { lockFolder, pageProblems, storePath } from "./open.ts";
import type { Span } from "./log/missing.ts";
import { prepareReadStatements } from "./log/statements.ts";
import { infoOf } from "./log/streams.ts";
import type { StoreCheck, StoreFiles, StoreMade, StoreProgress, StreamInfo } from "./port.ts";
import { salvage } from "./repair/salvage.ts";
import { syncFile } from "./replace.ts";
import { createQuarantine } from "./log/quarantine.ts";
import { otherSchema, schemaOf, SCHEMA_VERSION } from "./schema.ts";
import { addRowSum } from "./log/rows.ts";
import { readWal } from "./wal.ts";
import { errorMessage } from "../domain/error-message.ts";

/** Number of pages copied between two calls of `progress`. */
const BACKUP_PAGES = 512;

/** Returns functions that work on whole stores, for the command line. `wall` returns the time for new rows. */
export function storeFiles(wall: () => number): StoreFiles {
  return {
    check: (dataDir, progress) => {
      mustHaveStore(dataDir);
      return checkStore(dataDir, progress);
    },
    salvage: (dataDir, progress) => {
      mustHaveStore(dataDir);
      return withFolderLocked(dataDir, () => salvage({ dataDir, wall, progress }));
    },
    export: (dataDir, file, progress) => {
      mustHaveStore(dataDir);
      mustBeFree(file);
      return exportStore(dataDir, file, progress);
    },
    import: (dataDir, file, progress) => {
      if (!existsSync(file)) throw new Error(`there is no file at ${file}`);
      return withFolderLocked(dataDir, () => salvage({ dataDir, source: file, wall, progress }));
    },
    async backup(dataDir, file, progress) {
      mustHaveStore(dataDir);
      mustBeFree(file);
      const db = new Database(storePath(dataDir), { readonly: true, fileMustExist: true });
      try {
        await db.backup(file, {
          progress: ({ totalPages, remainingPages }) => {
            progress(totalPages - remainingPages, totalPages);
            return BACKUP_PAGES;
          },
        });
      } finally {
        db.close();
      }
      chmodSync(file, 0o600);
      syncFile(file);
      return { file, bytes: statSync(file).size };
    },
  };
}

/** Runs `make` while no agent is running. A running agent would continue to write the file that `make` replaces. */
function withFolderLocked(dataDir: string, make: () => StoreMade): StoreMade {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const lock = lockFolder(dataDir);
  try {
    return make();
  } finally {
    lock.release();
  }
}

function mustHaveStore(dataDir: string): void {
  if (!existsSync(storePath(dataDir))) throw new Error(`there is no store at ${storePath(dataDir)}`);
}

function mustBeFree(file: string): void {
  if (existsSync(file)) throw new Error(`${file} is there already: name another file, or remove it`);
}

/** Checks a store without changing anything, even while the agent is running. Throws if there is no store. */
export function checkStore(dataDir: string, progress: StoreProgress): StoreCheck {
  const file = storePath(dataDir);
  const bytes = statSync(file).size;
  const problems = readWal(file).end === "hurt" ? ["the write-ahead log breaks off before commits that it holds"] : [];
  const found: FoundInStream[] = [];
  let db: Database.Database | null = null;
  try {
    db = new Database(file, { readonly: true, fileMustExist: true });
    // Checks in one transaction, which sees one state of the file. Otherwise, a row that the agent merges during the check would look
    // damaged.
    db.transaction(checkRows)(db, { problems, found, progress });
  } catch (error) {
    problems.push(errorMessage(error));
  } finally {
    db?.close();
  }
  const streams = found.map(({ info: { stream, booth, oldest_seq, newest_seq, acked_seq }, ...one }) => ({
    stream,
    booth,
    oldest_seq,
    newest_seq,
    acked_seq,
    damaged_rows: one.rows.size,
    damaged_facts: one.facts.size,
    damaged_states: one.states.size,
    missing: sizeOf(one.missing),
    quarantined: one.quarantined,
  }));
  const isWell = streams.every((one) => one.damaged_rows + one.damaged_facts + one.damaged_states + one.missing === 0);
  return { file, bytes, sound: problems.length === 0 && isWell, problems, streams };
}

/** The findings of one stream, without repeated rows and seqs, because the pieces of a check overlap. */
interface FoundInStream {
  readonly info: StreamInfo;
  readonly quarantined: number;
  readonly rows: Set<number>;
  readonly facts: Set<number>;
  readonly states: Set<number>;
  readonly missing: Span[];
}

interface Checking {
  readonly problems: string[];
  readonly found: FoundInStream[];
  readonly progress: StoreProgress;
}

function checkRows(db: Database.Database, { problems, found, progress }: Checking): void {
  const schema = schemaOf(db);
  if (schema !== SCHEMA_VERSION) throw new Error(otherSchema(schema));
  addRowSum(db);
  const quarantine = createQuarantine(db);
  for (const info of prepareReadStatements(db).allStreams.all().map(infoOf)) {
    const quarantined = quarantine.count(info.stream);
    found.push({ info, quarantined, rows: new Set(), facts: new Set(), states: new Set(), missing: [] });
  }
  problems.push(...pageProblems(db));
  const recordsOf = ({ info }: FoundInStream): number => info.newest_seq - info.oldest_seq + 1;
  const of = found.reduce((sum, stream) => sum + recordsOf(stream), 0);
  let done = 0;
  for (const stream of found) {
    const { info } = stream;
    for (const { from, damaged_rows, damaged_facts, damaged_states, missing } of find(db, () => [info])) {
      if (from >= info.oldest_seq) progress(done + from - info.oldest_seq, of);
      for (const { first_seq } of damaged_rows) stream.rows.add(first_seq);
      for (const { seq } of damaged_facts) stream.facts.add(seq);
      for (const seq of damaged_states) stream.states.add(seq);
      stream.missing.push(...missing);
    }
    done += recordsOf(stream);
  }
}

/** Returns the number of different seqs in ranges that may overlap. */
function sizeOf(ranges: readonly Span[]): number {
  let size = 0;
  let end = 0;
  for (const [from, to] of ranges.toSorted((a, b) => a[0] - b[0])) {
    size += Math.max(0, to - Math.max(from - 1, end));
    end = Math.max(end, to);
  }
  return size;
}
