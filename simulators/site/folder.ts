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
  /** Epoch ms at which the story began. */
  readonly story_start: number;
  /** Simulated epoch ms at the last stop, or slightly later if it was killed: the site continues from here. */
  wall: number;
  readonly provision_key: string;
  readonly admin_key: string;
  /** The owner's, who only looks. */
  readonly user_key: string;
  /** Epoch ms at which the live story took over from a history; absent: it has none. */
  readonly joint?: number;
}

/** A site's data folder: everything that it keeps is below it. */
export interface SiteFolder {
  readonly path: string;
  readonly service: string;
  readonly gateway: string;
  readonly runtime: string;
  readonly clockFile: string;
  /** How fast its time goes just now. */
  readonly paceFile: string;
  readonly configFile: string;
  readonly keyFile: string;
  /** null: the first start. */
  memory(): SiteMemory | null;
  remember(memory: SiteMemory): void;
  /** Lets the next start have the folder. */
  unlock(): void;
}

/** The folder can't be used; the message says why and what to do. */
export class FolderError extends Error {}

const LOCK = "site.pid";
const MEMORY = "site.json";

/** Makes the folder where needed and takes it for this process. Throws a FolderError. */
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

/** Written beside and renamed: a stop in the middle leaves the old or the new. */
export function replaceFile(path: string, text: string): void {
  writeFileSync(`${path}.new`, text, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

function readMemory(path: string): SiteMemory | null {
  if (!existsSync(path)) return null;
  try {
    // The file is this program's own; a broken one fails below, where it is used, or here.
    const told = JSON.parse(readFileSync(path, "utf8")) as SiteMemory;
    // A folder of an earlier version has no key for the owner.
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
