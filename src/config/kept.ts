import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { deserialize, serialize } from "node:v8";
import type { UsableConfig } from "./usable.ts";

/**
 * What a start made of its configuration and profiles, for the next one: as long as none of the files that it came from has
 * changed, that one loads neither the YAML reader nor the schemas, which are two fifths of what a start takes. It lies in the
 * folder that the service manager gives for a cache; without one nothing is kept.
 */

const NAME = "configuration";
const DIGEST_BYTES = 32;
/** The package's folder is named by what is in it: another program than this one makes its own. */
const PROGRAM = `${import.meta.url} ${process.version}`;

type Environment = Readonly<Record<string, string | undefined>>;

interface Kept {
  readonly program: string;
  /** Each file that was read or looked for, with the digest of its content; null: it wasn't there. The first is the operator's. */
  readonly files: readonly (readonly [path: string, digest: string | null])[];
  readonly usable: UsableConfig;
}

/** What the start before made of the same files; null: there is nothing, or something has changed since. */
export function keptConfig(path: string, environment: Environment): UsableConfig | null {
  const kept = readKept(environment);
  if (kept?.program !== PROGRAM || kept.files[0]?.[0] !== resolve(path)) return null;
  return kept.files.every(([file, digest]) => digestIn(file) === digest) ? kept.usable : null;
}

/** Keeps what was made of `files`. A disk that takes nothing costs this alone. */
export function keepConfig(files: readonly string[], usable: UsableConfig, environment: Environment): void {
  const folder = environment["CACHE_DIRECTORY"];
  if (folder === undefined) return;
  const kept: Kept = { program: PROGRAM, files: files.map((file) => [file, digestIn(file)]), usable };
  const body = serialize(kept);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // A power cut may leave any part of it: its digest tells.
    writeFileSync(join(folder, `${NAME}.new`), Buffer.concat([digestOf(body), body]), { mode: 0o600 });
    renameSync(join(folder, `${NAME}.new`), join(folder, NAME));
  } catch (error) {
    if (!(error instanceof Error && "code" in error)) throw error;
  }
}

function readKept(environment: Environment): Kept | null {
  const folder = environment["CACHE_DIRECTORY"];
  if (folder === undefined) return null;
  try {
    const bytes = readFileSync(join(folder, NAME));
    const body = bytes.subarray(DIGEST_BYTES);
    if (!digestOf(body).equals(bytes.subarray(0, DIGEST_BYTES))) return null;
    return deserialize(body) as Kept;
  } catch {
    // None there, or none that this Node can read: the files themselves say all.
    return null;
  }
}

function digestIn(file: string): string | null {
  try {
    return digestOf(readFileSync(file)).toString("hex");
  } catch {
    return null;
  }
}

function digestOf(bytes: Uint8Array): Buffer {
  return createHash("sha256").update(bytes).digest();
}
