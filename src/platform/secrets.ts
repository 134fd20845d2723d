import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { ServiceConfig } from "../core/types/config.ts";

const MAX_SECRET_BYTES = 4_096;

/**
 * The first key of the service: a systemd credential, else a file that only its owner can read.
 * Returns null where none is configured, or where the credential isn't there yet: a gateway polls before anybody has brought
 * it a key. Throws, naming the file and what to do, where it can't be used.
 */
export function firstKey(
  service: ServiceConfig,
  environment: Readonly<Record<string, string | undefined>>,
): string | null {
  const folder = environment["CREDENTIALS_DIRECTORY"];
  if (service.api_key_credential !== undefined && folder !== undefined) {
    const path = join(folder, service.api_key_credential);
    return existsSync(path) ? readSecret(path) : null;
  }
  return service.api_key_file === undefined ? null : readOwnSecret(service.api_key_file);
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
