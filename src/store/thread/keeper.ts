import { rmSync, statSync } from "node:fs";
import type { Database } from "better-sqlite3";
import { faultOf, faultText, type StoreFault } from "../../domain/store-fault.ts";
import type { StorageHealth } from "../../domain/status.ts";
import { BALLAST_BYTES, openBallast, type Ballast } from "../retention/ballast.ts";
import { storePath } from "../open.ts";
import { openOrSalvage, recover, type Recovery } from "../repair/recover.ts";
import { damagedFiles, finishReplacing, freshPath, readyFresh } from "../repair/replace.ts";
import { createWriter, type Writer, type WriterTools } from "./writer.ts";

/** How often it is looked whether the ballast can be made again. */
const BALLAST_EVERY_MS = 60_000;

export interface KeeperTools extends Omit<WriterTools, "db" | "health"> {
  readonly dataDir: string;
  /** Absent: BALLAST_BYTES; 0: none. */
  readonly ballast_bytes?: number;
  /** Told of each salvage. */
  readonly salvaged?: (recovery: Recovery) => void;
}

/** A writer whose file is looked after. */
export interface KeptStore extends Writer {
  /** Lets go of the file as the end of the process does: nothing more is saved. */
  abandon(): void;
}

/** A failed call, in words for people. `code` is SQLite's or the system's. */
export class StoreRefusal extends Error {
  readonly code: string;
  constructor(message: string, code: string, cause: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

interface Kept {
  db: Database;
  writer: Writer;
  /** Which file on the disk is open. */
  file: FileIds;
  /** What must be done before the next call: the file opened anew, and then written anew. */
  reopen: boolean;
  renew: boolean;
  ballastAt: number;
}

/**
 * The writer of a data folder's store, on a file that is looked after: a damaged one is salvaged into a new one, one whose fsync
 * failed or that somebody removed is written anew from what is known, and a full disk gets the ballast. A call that fails has
 * changed nothing and may be made again. Throws at the opening as openOrSalvage does.
 */
export function keepStore(tools: KeeperTools): KeptStore {
  const { dataDir } = tools;
  const ballast = openBallast(dataDir, tools.ballast_bytes ?? BALLAST_BYTES);
  const health = (): StorageHealth => ({
    low: !ballast.isThere(),
    damaged_files: damagedFiles(dataDir).map((path) => path.slice(dataDir.length + 1)),
  });
  const opened = openOrSalvage(dataDir, tools);
  if (opened.recovery !== null) tools.salvaged?.(opened.recovery);
  const kept: Kept = {
    ...serve(opened.db, tools, health),
    reopen: false,
    renew: false,
    ballastAt: Number.NEGATIVE_INFINITY,
  };
  const parts: Parts = { tools, kept, ballast, health };
  const call = <T>(act: (writer: Writer) => T): T => guarded(parts, () => act(kept.writer));
  return {
    openStream: (booth) => call((writer) => writer.openStream(booth)),
    ingest: (stream, records, take) => call((writer) => writer.ingest(stream, records, take)),
    read: (stream, from, limit) => call((writer) => writer.read(stream, from, limit)),
    terms: (stream, from, end) => call((writer) => writer.terms(stream, from, end)),
    ack: (stream, upTo) => call((writer) => writer.ack(stream, upTo)),
    setAside: (stream, refusals) => call((writer) => writer.setAside(stream, refusals)),
    refused: (stream) => call((writer) => writer.refused(stream)),
    asideSince: (stream, since) => call((writer) => writer.asideSince(stream, since)),
    takenAfterAll: (stream, seqs) => call((writer) => writer.takenAfterAll(stream, seqs)),
    resend: (stream, from) => call((writer) => writer.resend(stream, from)),
    info: (stream) => call((writer) => writer.info(stream)),
    state: (stream) => call((writer) => writer.state(stream)),
    check: () => call((writer) => writer.check()),
    mend: () => call((writer) => writer.mend()),
    rebuilder: {
      start: (stream, current) => call((writer) => writer.rebuilder.start(stream, current)),
      progress: (stream) => kept.writer.rebuilder.progress(stream),
      slice: () => call((writer) => writer.rebuilder.slice()),
    },
    // Where opening anew has failed there is nothing left to save to.
    close: () => {
      if (kept.db.open) kept.writer.close();
    },
    abandon: () => void kept.db.close(),
  };
}

interface Parts {
  readonly tools: KeeperTools;
  readonly kept: Kept;
  readonly ballast: Ballast;
  readonly health: () => StorageHealth;
}

function serve(db: Database, tools: KeeperTools, health: () => StorageHealth): Pick<Kept, "db" | "writer" | "file"> {
  return { db, writer: createWriter({ ...tools, db, health }), file: fileIds(tools.dataDir) };
}

function guarded<T>(parts: Parts, act: () => T): T {
  try {
    prepareCall(parts);
    return act();
  } catch (error) {
    const { fault, code, detail } = readError(error);
    if (!mend(parts, fault, detail))
      throw fault === "other" ? error : new StoreRefusal(faultText(fault, detail), code, error);
    return act();
  }
}

/** What an earlier failure left to be done comes first: a call on a file that can't be relied on would be worth nothing. */
function prepareCall(parts: Parts): void {
  const { kept, tools, ballast } = parts;
  if (kept.reopen) reopen(parts);
  if (kept.renew || isGone(kept, tools.dataDir)) renew(parts);
  const now = tools.now();
  if (now - kept.ballastAt < BALLAST_EVERY_MS) return;
  kept.ballastAt = now;
  ballast.restore();
}

/** True: the call may be made again at once. */
function mend(parts: Parts, fault: StoreFault, detail: string): boolean {
  const { kept, tools, ballast } = parts;
  switch (fault) {
    case "damaged": {
      // Whatever fails from here on, the next call tries again.
      kept.reopen = true;
      kept.db.close();
      // Not within the call: where nobody is told, its arguments aren't looked at either.
      const recovery = recover(tools.dataDir, tools, detail);
      tools.salvaged?.(recovery);
      reopen(parts);
      return true;
    }
    case "fsync":
      kept.renew = true;
      return false;
    case "full":
      return ballast.release();
    case "refused":
      kept.reopen ||= !isGone(kept, tools.dataDir);
      return false;
    case "other":
      return false;
  }
}

function reopen({ kept, tools, health }: Parts): void {
  kept.db.close();
  const { db, recovery } = openOrSalvage(tools.dataDir, tools);
  if (recovery !== null) tools.salvaged?.(recovery);
  try {
    Object.assign(kept, serve(db, tools, health));
  } catch (error) {
    db.close();
    throw error;
  }
  kept.reopen = false;
}

/**
 * Writes all that the open file says into a new one, which takes its place once the disk has confirmed it. The open file is let go
 * of only then: where its name is gone it is all there is.
 */
function renew(parts: Parts): void {
  const { kept, tools } = parts;
  const fresh = freshPath(tools.dataDir);
  rmSync(fresh, { force: true });
  kept.db.prepare("VACUUM INTO ?").run(fresh);
  readyFresh(tools.dataDir);
  const isForeign = isGone(kept, tools.dataDir);
  kept.reopen = true;
  kept.db.close();
  finishReplacing(tools.dataDir, isForeign);
  kept.renew = false;
  reopen(parts);
}

/** Inodes of the database and of its write-ahead log; null: none. */
interface FileIds {
  readonly db: number | null;
  readonly wal: number | null;
}

function fileIds(dataDir: string): FileIds {
  const path = storePath(dataDir);
  const id = (name: string): number | null => statSync(name, { throwIfNoEntry: false })?.ino ?? null;
  return { db: id(path), wal: id(`${path}-wal`) };
}

/** Somebody removed or replaced a file that is in use: what is written to it would be gone at the next start. */
function isGone({ file }: Kept, dataDir: string): boolean {
  const now = fileIds(dataDir);
  return now.db !== file.db || (file.wal !== null && now.wal !== file.wal);
}

function readError(error: unknown): { readonly fault: StoreFault; readonly code: string; readonly detail: string } {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return { fault: faultOf(code), code, detail: error instanceof Error ? error.message : String(error) };
}
