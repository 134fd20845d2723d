import { randomUUID } from "node:crypto";
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { errorMessage } from "../../../src/domain/error-message.ts";

/** A file of users, and the brokers that read it. */
export interface UsersFile {
  readonly path: string;
  /** Name of the broker's program, by which a process with the number of an ended broker is recognized. */
  readonly program: string;
  readonly pidFiles: readonly string[];
}

/** Keeps a file of users and tells its brokers about each change. */
export interface UsersKeeper {
  /**
   * Replaces the file if the text differs, and tells each broker that hasn't read it. Returns a line for each thing
   * done, and for each broker that can't be told.
   */
  keep(text: string): { readonly done: readonly string[]; readonly failed: readonly string[] };
}

export function keepUsersFile({ path, program, pidFiles }: UsersFile): UsersKeeper {
  /** The process of each pid file that was told last, with the text that it read. */
  const told = new Map<string, { readonly pid: number; readonly text: string }>();
  return {
    keep(text) {
      const done: string[] = [];
      const failed: string[] = [];
      if (text !== currentText(path)) {
        replaceFile(path, text);
        done.push(`wrote ${path}`);
      }
      for (const pidFile of pidFiles) {
        const pid = brokerOf(pidFile, program);
        const before = told.get(pidFile);
        // A broker that isn't running reads the file when it starts.
        if (pid === null || (before?.pid === pid && before.text === text)) continue;
        try {
          process.kill(pid, "SIGHUP");
          told.set(pidFile, { pid, text });
          done.push(`told ${program} ${pid}`);
        } catch (error) {
          failed.push(`cannot send SIGHUP to process ${pid} of ${pidFile}: ${errorMessage(error)}`);
        }
      }
      return { done, failed };
    },
  };
}

function currentText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}

/** Replaces a file at once: a broker reads the old text or the new one, also after a power cut. */
function replaceFile(path: string, text: string): void {
  const part = `${path}.${randomUUID()}`;
  try {
    const file = openSync(part, "wx", 0o600);
    try {
      writeSync(file, text);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(part, path);
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  }
  const folder = openSync(dirname(path), "r");
  fsyncSync(folder);
  closeSync(folder);
}

/** Returns the process of a pid file if it is the broker; null: the broker isn't running. */
function brokerOf(pidFile: string, program: string): number | null {
  try {
    const pid = Number(readFileSync(pidFile, "utf8").trim());
    if (!Number.isInteger(pid) || pid < 1) return null;
    return readFileSync(`/proc/${pid}/comm`, "utf8").trim() === program ? pid : null;
  } catch {
    return null;
  }
}
