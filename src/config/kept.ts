import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { deserialize, serialize } from "node:v8";
import type { Made, UsableConfig } from "./usable.ts";

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

/** A file and the digest of its content; null: it isn't there. */
type Look = readonly [path: string, digest: string | null];

interface Kept {
  readonly program: string;
  /** Each file that was read or looked for; the first is the operator's. */
  readonly files: readonly Look[];
  readonly usable: UsableConfig;
}

/** What the start before made of the same files; null: there is nothing, or something has changed since. */
export function keptConfig(path: string, environment: Environment): UsableConfig | null {
  const kept = readKept(environment);
  if (kept?.program !== PROGRAM || kept.files[0]?.[0] !== resolve(path)) return null;
  return kept.files.every((look) => isDeepStrictEqual(lookAt(look[0]), look)) ? kept.usable : null;
}

/**
 * Keeps what `make` makes of files that were `first`'s. It is made once more between two looks at them: a file that somebody writes
 * in these very moments must not stand for what was read of it before. A disk that takes nothing costs this alone.
 */
export function keepConfig(first: Made, make: () => Made | null, environment: Environment): void {
  const folder = environment["CACHE_DIRECTORY"];
  if (folder === undefined) return;
  const before = first.files.map(lookAt);
  const made = make();
  if (made === null || !isDeepStrictEqual(made.files.map(lookAt), before)) return;
  const kept: Kept = { program: PROGRAM, files: before, usable: made.usable };
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

function lookAt(file: string): Look {
  try {
    return [file, digestOf(readFileSync(file)).toString("hex")];
  } catch {
    return [file, null];
  }
}

function digestOf(bytes: Uint8Array): Buffer {
  return createHash("sha256").update(bytes).digest();
}
