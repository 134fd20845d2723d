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

/** Pages copied between two words of progress. */
const BACKUP_PAGES = 512;

/** Work on whole stores, for the command line. `wall` dates what is made. */
export function storeFiles(wall: () => number): StoreFiles {
  return {
    check: (dataDir, progress) => {
      mustHaveStore(dataDir);
      return checkStore(dataDir, progress);
    },
    salvage: (dataDir, progress) => {
      mustHaveStore(dataDir);
      return alone(dataDir, () => salvage({ dataDir, wall, progress }));
    },
    export: (dataDir, file, progress) => {
      mustHaveStore(dataDir);
      mustBeFree(file);
      return exportStore(dataDir, file, progress);
    },
    import: (dataDir, file, progress) => {
      if (!existsSync(file)) throw new Error(`there is no file at ${file}`);
      return alone(dataDir, () => salvage({ dataDir, source: file, wall, progress }));
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

/** No agent may run: it would go on writing the file that is replaced. */
function alone(dataDir: string, act: () => StoreMade): StoreMade {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const lock = lockFolder(dataDir);
  try {
    return act();
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

/** Looks through a store without changing anything, also while the agent runs. Throws where there is none. */
export function checkStore(dataDir: string, progress: StoreProgress): StoreCheck {
  const file = storePath(dataDir);
  const bytes = statSync(file).size;
  const problems = readWal(file).end === "hurt" ? ["the write-ahead log breaks off before commits that it holds"] : [];
  const streams: StreamCheck[] = [];
  let db: Database.Database | null = null;
  try {
    db = new Database(file, { readonly: true, fileMustExist: true });
    // All of it as it stood at one moment: the agent puts rows together meanwhile, and a row that has gone looks like damage.
    db.transaction(look)(db, { problems, streams, progress });
  } catch (error) {
    problems.push(errorMessage(error));
  } finally {
    db?.close();
  }
  const told = streams.map(({ info: { stream, booth, oldest_seq, newest_seq, acked_seq }, ...found }) => ({
    stream,
    booth,
    oldest_seq,
    newest_seq,
    acked_seq,
    damaged_rows: found.rows.size,
    damaged_facts: found.facts.size,
    damaged_states: found.states.size,
    missing: sizeOf(found.missing),
    quarantined: found.quarantined,
  }));
  const isWell = told.every((one) => one.damaged_rows + one.damaged_facts + one.damaged_states + one.missing === 0);
  return { file, bytes, sound: problems.length === 0 && isWell, problems, streams: told };
}

/** What was found of a stream. Pieces of the look overlap: each row and seq is counted once. */
interface StreamCheck {
  readonly info: StreamInfo;
  readonly quarantined: number;
  readonly rows: Set<number>;
  readonly facts: Set<number>;
  readonly states: Set<number>;
  readonly missing: Span[];
}

interface Looking {
  readonly problems: string[];
  readonly streams: StreamCheck[];
  readonly progress: StoreProgress;
}

function look(db: Database.Database, { problems, streams, progress }: Looking): void {
  const schema = schemaOf(db);
  if (schema !== SCHEMA_VERSION) throw new Error(otherSchema(schema));
  addRowSum(db);
  const quarantine = createQuarantine(db);
  const infos = prepareReadStatements(db).allStreams.all().map(infoOf);
  const recordsOf = ({ oldest_seq, newest_seq }: StreamInfo): number => newest_seq - oldest_seq + 1;
  const of = infos.reduce((sum, info) => sum + recordsOf(info), 0);
  let done = 0;
  const begun = new Map<string, StreamCheck & { readonly done: number }>();
  for (const info of infos) {
    const found = { rows: new Set<number>(), facts: new Set<number>(), states: new Set<number>(), missing: [] };
    begun.set(info.stream, { info, quarantined: quarantine.count(info.stream), ...found, done });
    done += recordsOf(info);
  }
  streams.push(...begun.values());
  problems.push(...pageProblems(db));
  for (const { info, from, damaged_rows, damaged_facts, damaged_states, missing } of find(db, () => infos)) {
    const stream = begun.get(info.stream);
    if (from >= info.oldest_seq) progress((stream?.done ?? 0) + from - info.oldest_seq, of);
    for (const { first_seq } of damaged_rows) stream?.rows.add(first_seq);
    for (const { seq } of damaged_facts) stream?.facts.add(seq);
    for (const seq of damaged_states) stream?.states.add(seq);
    stream?.missing.push(...missing);
  }
}

/** How many seqs the ranges hold together. */
function sizeOf(ranges: readonly Span[]): number {
  let size = 0;
  let end = 0;
  for (const [from, to] of [...ranges].sort((a, b) => a[0] - b[0])) {
    size += Math.max(0, to - Math.max(from - 1, end));
    end = Math.max(end, to);
  }
  return size;
}
