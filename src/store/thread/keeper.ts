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
import type { Text } from "../../domain/message.ts";
import { MessageError } from "../../domain/messages/message-error.ts";
import { errorMessage } from "../../domain/error-message.ts";
import { MINUTE_MS } from "../../domain/time.ts";

/** Interval for restoring the ballast (a file that only reserves space) and for listing damaged files. */
const BALLAST_EVERY_MS = MINUTE_MS;

interface KeeperOptions extends Omit<WriterOptions, "db" | "health"> {
  readonly dataDir: string;
  /** Size of the ballast; absent: BALLAST_BYTES; 0: no ballast. */
  readonly ballast_bytes?: number;
  /** Called after each salvage. */
  readonly salvaged?: (reason: string) => void;
}

type WriterCalls = Omit<Writer, "close">;

/** A writer that repairs and replaces its file if necessary. */
export interface KeptStore extends Writer {
  /** Closes the file without saving anything, as in a crash. */
  abandon(): void;
}

/** A failed call, with a message for people. `code` is the error code of SQLite or the system. */
export class StoreRefusal extends MessageError {
  readonly code: string;
  constructor(text: Text, code: string, cause: unknown) {
    super(text, cause);
    this.code = code;
  }
}

/**
 * Opens the writer of a data folder's store and keeps its file usable. Salvages a damaged file into a new one. Rewrites the open file under
 * a new name if an fsync failed or the file was removed. Deletes the ballast if the disk is full. A call that fails has changed nothing and
 * may be repeated. Throws the errors of openSound, except for damage.
 */
export function keepStore(options: KeeperOptions): KeptStore {
  const keeper = new Keeper(options);
  return {
    ...callsBy<WriterCalls>(WRITER_CALLS, (name, args) => keeper.call(name, args)),
    rebuildProgress: (stream) => keeper.writer.rebuildProgress(stream),
    // Saves only to an open file: reopening may have failed.
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
  /** Inodes of the open files. */
  #file: ReturnType<typeof fileIds>;
  /** Whether the next call must first reopen the file and then rewrite it. */
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

  /** Does the work that an earlier failure requires, because the file isn't reliable until then. */
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

  /** Repairs the file after a fault. Returns whether the failed call may be repeated immediately. */
  #mend(fault: StoreFault, detail: string): boolean {
    switch (fault) {
      case "damaged":
        // Makes the next call try again if a later step fails.
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
   * Writes the content of the open file into a new one. The new file replaces the open one after the disk has confirmed it. The open file
   * is closed only then, because it is the only copy if its name was removed.
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

  /** Returns whether an open file was removed or replaced on disk. Records written to such a file would be lost at the next start. */
  #isGone(): boolean {
    const now = fileIds(this.#options.dataDir);
    return now.db !== this.#file.db || (this.#file.wal !== null && now.wal !== this.#file.wal);
  }
}

/**
 * Opens the store of a data folder. If the damage is more than single rows, sets the file aside and salvages it into a new one. Throws if
 * the disk refuses. Also throws if an agent with another schema wrote the file, and then leaves the file unchanged.
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

/** Returns the inodes of the database and of its write-ahead log; null: the file doesn't exist. */
function fileIds(dataDir: string) {
  const path = storePath(dataDir);
  const id = (name: string): number | null => statSync(name, { throwIfNoEntry: false })?.ino ?? null;
  return { db: id(path), wal: id(`${path}-wal`) };
}

function readError(error: unknown) {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return { fault: faultOf(code), code, detail: errorMessage(error) };
}

/** Size of the ballast, enough for days of one booth's readings. */
const BALLAST_BYTES = 4_000_000;
/** Free space required to restore the ballast, as a multiple of its size. With less, the ballast itself would fill the disk. */
const FREE_FACTOR = 4;
const CHUNK_BYTES = 500_000;

/**
 * Opens the ballast: a file that only reserves space. If other files fill the disk, deleting it lets commits continue. 0 bytes: no ballast.
 */
function openBallast(dataDir: string, bytes: number) {
  const path = join(dataDir, "ballast");
  const isThere = (): boolean => sizeOf(path) >= bytes;
  return {
    isThere,
    /** Deletes the ballast. Returns false if there is none, or if the disk isn't full. */
    release(): boolean {
      if (bytes === 0 || sizeOf(path) === 0 || freeBytes(dataDir) > bytes) return false;
      rmSync(path, { force: true });
      return true;
    },
    /** Restores the ballast if there is enough space. Never throws, because the store works without the ballast. */
    restore(): void {
      try {
        if (!isThere() && freeBytes(dataDir) > FREE_FACTOR * bytes) make(path, bytes);
      } catch (error) {
        // Deletes the unfinished file if space or permission is missing. A later call tries again, and `status` shows that the ballast is
        // missing.
        rmSync(`${path}.new`, { force: true });
        if (!(error instanceof Error && "code" in error)) throw error;
      }
    },
  };
}

/** Writes the ballast with random bytes, because a compressing file system reserves no space for zeros. */
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
