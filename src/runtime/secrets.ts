import { closeSync, existsSync, fsyncSync, openSync, readFileSync, rmSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { ServiceConfig } from "../config/port.ts";
import type { Secrets } from "../domain/machine.ts";

const MAX_SECRET_BYTES = 4_096;

/**
 * The first key of the service: a systemd credential, else a file that only its owner can read. It is read anew each time, so
 * that a key put in its place counts at the next try; one that can't be read then is the last one known. No file at all is no
 * key. Throws now, naming the file and what to do, where what is there can't be used.
 */
export function openSecrets(
  service: ServiceConfig,
  environment: Readonly<Record<string, string | undefined>>,
): Secrets {
  const folder = environment["CREDENTIALS_DIRECTORY"];
  const { api_key_credential, api_key_file } = service;
  const isCredential = api_key_credential !== undefined && folder !== undefined;
  const read = (): string | null => {
    if (!isCredential) return api_key_file === undefined ? null : readOwn(api_key_file);
    // Not there yet: a gateway polls before anybody has brought it a key.
    const path = join(folder, api_key_credential);
    return existsSync(path) ? readSecret(path) : null;
  };
  let known = read();
  return {
    firstKey() {
      try {
        known = read();
      } catch {
        // Half-written, or open to others: said at the start; until it is mended the one known goes on.
      }
      return known;
    },
    wipeFirstKey() {
      if (known === null) return null;
      if (isCredential)
        return `take the credential ${api_key_credential} out of the unit: the key isn't needed any more`;
      known = null;
      return api_key_file === undefined ? null : wipe(api_key_file);
    },
  };
}

function readOwn(path: string): string | null {
  return existsSync(path) ? readOwnSecret(path) : null;
}

/** A file that only its owner can read. Throws, naming the file and what to do, where it can't be used. */
export function readOwnSecret(path: string): string {
  return readSecret(ownFile(path));
}

/** The path of a file that only its owner can read. Throws, naming it and what to do, where others can. */
export function ownFile(path: string): string {
  const mode = statSync(path).mode & 0o777;
  if ((mode & 0o077) === 0) return path;
  throw new Error(`${path} can be read by others (mode ${mode.toString(8)}): chmod 600 ${path}`);
}

function readSecret(path: string): string {
  const text = readFileSync(path, "utf8").slice(0, MAX_SECRET_BYTES).trim();
  if (text === "") throw new Error(`${path} is empty: put the secret into it`);
  return text;
}

/** Overwritten before it goes, as far as a file system lets anybody do that. Gives what is left to do by hand; null: nothing. */
export function wipe(path: string): string | null {
  try {
    const file = openSync(path, "r+");
    try {
      writeSync(file, Buffer.alloc(statSync(path).size));
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    rmSync(path);
    return null;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
    return code === "ENOENT" ? null : `delete ${path} by hand (${code}): the key isn't needed any more`;
  }
}
