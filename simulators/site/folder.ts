import { randomBytes } from "node:crypto";
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { errorMessage } from "../../src/domain/error-message.ts";

/** The state that a site keeps from one start to the next. */
export interface SiteMemory {
  readonly serial: string;
  readonly scenario: string;
  readonly seed: number;
  /** Epoch ms at which the story started. */
  readonly story_start: number;
  /** Simulated epoch ms at the last stop, or slightly later if it was killed: the site continues from here. */
  wall: number;
  readonly provision_key: string;
  readonly admin_key: string;
  /** The user's key, which is read-only. */
  readonly user_key: string;
  /** Epoch ms at which the live story follows a history; absent: there is no history. */
  readonly joint?: number;
}

/** A site's data folder, which contains all its files. */
export interface SiteFolder {
  readonly path: string;
  readonly service: string;
  readonly gateway: string;
  readonly runtime: string;
  readonly clockFile: string;
  /** The file with the present speed of the site's time. */
  readonly paceFile: string;
  readonly configFile: string;
  readonly keyFile: string;
  /** Returns the memory of the last start; null: this is the first start. */
  memory(): SiteMemory | null;
  remember(memory: SiteMemory): void;
  /** Releases the folder for the next start. */
  unlock(): void;
}

/** The folder can't be used. The message names the reason and the remedy. */
export class FolderError extends Error {}

const LOCK = "site.pid";
const MEMORY = "site.json";

/** Creates the folder if necessary and locks it for this process. Throws a FolderError. */
export function openFolder(given: string): SiteFolder {
  const path = resolve(given);
  try {
    for (const part of ["service", "gateway", "run"]) mkdirSync(join(path, part), { recursive: true, mode: 0o700 });
    lock(join(path, LOCK));
  } catch (cause) {
    if (cause instanceof FolderError) throw cause;
    const reason = errorMessage(cause);
    throw new FolderError(`${path} can't be written (${reason}): choose another folder with --data`, { cause });
  }
  return {
    path,
    service: join(path, "service"),
    gateway: join(path, "gateway"),
    runtime: join(path, "run"),
    clockFile: join(path, "run", "clock.json"),
    paceFile: join(path, "run", "clock.pace"),
    configFile: join(path, "gateway.yaml"),
    keyFile: join(path, "api-key"),
    memory: () => readMemory(join(path, MEMORY)),
    remember: (memory) => replaceFile(join(path, MEMORY), `${JSON.stringify(memory, null, 2)}\n`),
    unlock: () => rmSync(join(path, LOCK), { force: true }),
  };
}

/** Writes a temporary file and renames it, so that an interruption leaves either the old or the new file. */
export function replaceFile(path: string, text: string): void {
  writeFileSync(`${path}.new`, text, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

function readMemory(path: string): SiteMemory | null {
  if (!existsSync(path)) return null;
  try {
    // The file was written by this program. If it is broken, parsing or using it fails.
    const told = JSON.parse(readFileSync(path, "utf8")) as SiteMemory;
    // A folder of an earlier version has no user key.
    return { ...told, user_key: (told as Partial<SiteMemory>).user_key ?? newKey() };
  } catch (cause) {
    throw new FolderError(`${path} isn't a site's memory: move the folder away, or choose another one with --data`, {
      cause,
    });
  }
}

function lock(path: string): void {
  const holder = existsSync(path) ? Number(readFileSync(path, "utf8")) : NaN;
  if (Number.isInteger(holder) && holder !== process.pid && isRunning(holder)) {
    throw new FolderError(
      `another site (process ${holder}) runs in this folder: stop it, or choose another folder with --data and other ports with --port`,
    );
  }
  const file = openSync(path, "w", 0o600);
  writeSync(file, process.pid.toString());
  closeSync(file);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

export function newKey(): string {
  return randomBytes(24).toString("base64url");
}
