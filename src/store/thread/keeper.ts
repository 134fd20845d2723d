import type { Database } from "better-sqlite3";
import { closeSync, fsyncSync, openSync, renameSync, rmSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { StorageHealth } from "../../domain/status.ts";
import { faultOf, faultText, type StoreFault } from "../../domain/storage.ts";
import { openSound, StoreDamaged, storePath } from "../open.ts";
import { salvage } from "../repair/salvage.ts";
import { freeBytes } from "../retention/budget.ts";
import { damagedFiles, finishReplacing, freshPath, readyFresh } from "../replace.ts";
import { callsBy, invoke, WRITER_CALLS } from "./calls.ts";
import { createWriter, type Writer, type WriterOptions } from "./writer.ts";
import { errorMessage } from "../../domain/error-message.ts";

/** How often it is looked whether the ballast can be made again, and which damaged files still lie there. */
const BALLAST_EVERY_MS = 60_000;

interface KeeperOptions extends Omit<WriterOptions, "db" | "health"> {
  readonly dataDir: string;
  /** Absent: BALLAST_BYTES; 0: none. */
  readonly ballast_bytes?: number;
  /** Called after each salvage. */
  readonly salvaged?: (reason: string) => void;
}

type WriterCalls = Omit<Writer, "close">;

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

/**
 * The writer of a data folder's store, on a file that is looked after: a damaged one is salvaged into a new one, one whose fsync
 * failed or that somebody removed is written anew from what is known, and a full disk gets the ballast. A call that fails has
 * changed nothing and may be made again. Throws at the opening as openSound does, but for damage.
 */
export function keepStore(options: KeeperOptions): KeptStore {
  const keeper = new Keeper(options);
  return {
    ...callsBy<WriterCalls>(WRITER_CALLS, (name, args) => keeper.call(name, args)),
    rebuildProgress: (stream) => keeper.writer.rebuildProgress(stream),
    // Where opening anew has failed there is nothing left to save to.
    close: () => {
      if (keeper.db.open) keeper.writer.close();
    },
    abandon: () => void keeper.db.close(),
  };
}

class Keeper {
  readonly #options: KeeperOptions;
  readonly #ballast: ReturnType<typeof openBallast>;
  db: Database;
  writer: Writer;
  /** Which file on the disk is open. */
  #file: ReturnType<typeof fileIds>;
  /** What must be done before the next call: the file opened anew, and then written anew. */
  #mustReopen = false;
  #mustRenew = false;
  #ballastAt = Number.NEGATIVE_INFINITY;
  #damaged: readonly string[] = [];

  constructor(options: KeeperOptions) {
    this.#options = options;
    this.#ballast = openBallast(options.dataDir, options.ballast_bytes ?? BALLAST_BYTES);
    this.db = openMended(options);
    this.writer = this.#serve();
    this.#file = fileIds(options.dataDir);
  }

  call(name: keyof WriterCalls, args: readonly unknown[]): unknown {
    try {
      this.#prepare();
      return invoke<WriterCalls>(this.writer, name, args);
    } catch (error) {
      const { fault, code, detail } = readError(error);
      if (!this.#mend(fault, detail))
        throw fault === "other" ? error : new StoreRefusal(faultText(fault, detail), code, error);
      return invoke<WriterCalls>(this.writer, name, args);
    }
  }

  #serve(): Writer {
    this.#damaged = this.#damagedFiles();
    const health = (): StorageHealth => ({
      low: !this.#ballast.isThere(),
      damaged_files: this.#damaged,
    });
    return createWriter({ ...this.#options, db: this.db, health });
  }

  /** What an earlier failure left to be done comes first: a call on a file that can't be relied on would be worth nothing. */
  #prepare(): void {
    if (this.#mustReopen) this.#reopen();
    if (this.#mustRenew || this.#isGone()) this.#renew();
    const now = this.#options.now();
    if (now - this.#ballastAt < BALLAST_EVERY_MS) return;
    this.#ballastAt = now;
    this.#ballast.restore();
    this.#damaged = this.#damagedFiles();
  }

  #damagedFiles(): readonly string[] {
    const { dataDir } = this.#options;
    return damagedFiles(dataDir).map((path) => path.slice(dataDir.length + 1));
  }

  /** True: the call may be made again at once. */
  #mend(fault: StoreFault, detail: string): boolean {
    switch (fault) {
      case "damaged":
        // Whatever fails from here on, the next call tries again.
        this.#mustReopen = true;
        this.db.close();
        salvageFor(this.#options, detail);
        this.#reopen();
        return true;
      case "fsync":
        this.#mustRenew = true;
        return false;
      case "full":
        return this.#ballast.release();
      case "refused":
        this.#mustReopen ||= !this.#isGone();
        return false;
      case "other":
        return false;
    }
  }

  #reopen(): void {
    this.db.close();
    const db = openMended(this.#options);
    const before = this.db;
    try {
      this.db = db;
      this.writer = this.#serve();
    } catch (error) {
      this.db = before;
      db.close();
      throw error;
    }
    this.#file = fileIds(this.#options.dataDir);
    this.#mustReopen = false;
  }

  /**
   * Writes all that the open file says into a new one, which takes its place once the disk has confirmed it. The open file is let go
   * of only then: where its name is gone it is all there is.
   */
  #renew(): void {
    const { dataDir } = this.#options;
    const fresh = freshPath(dataDir);
    rmSync(fresh, { force: true });
    this.db.prepare("VACUUM INTO ?").run(fresh);
    readyFresh(dataDir);
    const isForeign = this.#isGone();
    this.#mustReopen = true;
    this.db.close();
    finishReplacing(dataDir, isForeign);
    this.#mustRenew = false;
    this.#reopen();
  }

  /** Somebody removed or replaced a file that is in use: what is written to it would be gone at the next start. */
  #isGone(): boolean {
    const now = fileIds(this.#options.dataDir);
    return now.db !== this.#file.db || (this.#file.wal !== null && now.wal !== this.#file.wal);
  }
}

/**
 * Opens the store of a data folder; where it is damaged beyond single rows it is set aside and salvaged into a new one. Throws where
 * the disk refuses, and where an agent of another schema wrote the file: it is then left alone.
 */
export function openMended(options: Pick<KeeperOptions, "dataDir" | "wall" | "salvaged">): Database {
  finishReplacing(options.dataDir, true);
  try {
    return openSound(options.dataDir);
  } catch (error) {
    if (!(error instanceof StoreDamaged)) throw error;
    salvageFor(options, error.message);
    return openSound(options.dataDir);
  }
}

function salvageFor({ dataDir, wall, salvaged }: Parameters<typeof openMended>[0], reason: string): void {
  salvage({ dataDir, wall });
  salvaged?.(reason);
}

/** Inodes of the database and of its write-ahead log; null: none. */
function fileIds(dataDir: string) {
  const path = storePath(dataDir);
  const id = (name: string): number | null => statSync(name, { throwIfNoEntry: false })?.ino ?? null;
  return { db: id(path), wal: id(`${path}-wal`) };
}

function readError(error: unknown) {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return { fault: faultOf(code), code, detail: errorMessage(error) };
}

/** Days of a booth's readings, at what a commit needs. */
const BALLAST_BYTES = 4_000_000;
/** So much must be free beside it before it is made again: otherwise it would fill the disk itself. */
const FREE_FACTOR = 4;
const CHUNK_BYTES = 500_000;

/** A file that only takes space, for the day when others have filled the disk: removing it lets commits go on. 0 bytes: none is kept. */
function openBallast(dataDir: string, bytes: number) {
  const path = join(dataDir, "ballast");
  const isThere = (): boolean => sizeOf(path) >= bytes;
  return {
    isThere,
    /** False: there was none, or the disk isn't full. */
    release(): boolean {
      if (bytes === 0 || sizeOf(path) === 0 || freeBytes(dataDir) > bytes) return false;
      rmSync(path, { force: true });
      return true;
    },
    /** Makes it where there is space enough. Never throws: without it everything goes on. */
    restore(): void {
      try {
        if (!isThere() && freeBytes(dataDir) > FREE_FACTOR * bytes) make(path, bytes);
      } catch (error) {
        // No space, no right: what it was for has come. It is tried again later, and status says that it isn't there.
        rmSync(`${path}.new`, { force: true });
        if (!(error instanceof Error && "code" in error)) throw error;
      }
    },
  };
}

/** Random bytes: a file system that compresses would keep zeros for nothing. */
function make(path: string, bytes: number): void {
  const { randomFillSync } = process.getBuiltinModule("node:crypto");
  const file = openSync(`${path}.new`, "w", 0o600);
  try {
    for (let left = bytes; left > 0; left -= CHUNK_BYTES) {
      writeSync(file, randomFillSync(Buffer.alloc(Math.min(left, CHUNK_BYTES))));
    }
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(`${path}.new`, path);
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
