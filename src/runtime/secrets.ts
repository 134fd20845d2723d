import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ServiceConfig } from "../config/port.ts";
import { ownFile, readSecretFile, secretIn } from "../credential-files.ts";
import type { Sealer, Secrets } from "../domain/machine.ts";

/**
 * Opens the access to the service's first key: a systemd credential, or a file that only its owner can read. The key is read at each use,
 * so that the next try uses a new key. If the file cannot be used, the last known key stays in use. The agent polls even without a key, and
 * reports the file like every file of the configuration.
 */
export function openSecrets(
  service: ServiceConfig,
  environment: Readonly<Record<string, string | undefined>>,
): Secrets {
  const folder = environment["CREDENTIALS_DIRECTORY"];
  const { api_key_credential, api_key_file } = service;
  const isCredential = api_key_credential !== undefined && folder !== undefined;
  const read = (): string | null => {
    const path = isCredential ? join(folder, api_key_credential) : api_key_file;
    // Returns no key without an error, because a gateway may run before it has a key.
    if (path === undefined || !existsSync(path)) return null;
    return isCredential ? secretIn(path) : readSecretFile(path);
  };
  let known: string | null = null;
  const firstKey = (): string | null => {
    try {
      known = read();
    } catch {
      // Keeps the last known key if the file is half-written, or if others can read it.
    }
    return known;
  };
  firstKey();
  return {
    firstKey,
    wipeFirstKey() {
      if (known === null) return null;
      if (isCredential)
        return `take the credential ${api_key_credential} out of the unit: the key isn't needed any more`;
      known = null;
      return api_key_file === undefined ? null : wipe(api_key_file);
    },
  };
}

/** Overwrites and deletes a file; some file systems keep the old blocks anyway. Returns what a person must do if that fails, or null. */
export function wipe(path: string): string | null {
  try {
    writeFileSync(path, Buffer.alloc(statSync(path).size), { flag: "r+", flush: true });
    rmSync(path);
    return null;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
    return code === "ENOENT" ? null : `delete ${path} by hand (${code}): the key isn't needed any more`;
  }
}

const KEY_BYTES = 32;
/** Length of a nonce: 96 random bits for each message (NIST SP 800-38D). Its limit of 2^32 messages is never reached. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const MARK_CHARS = 16;

/**
 * Opens the sealer, which encrypts secrets with this machine's key, using AES-256-GCM and a fresh nonce each time. The key is in the file
 * `machine.key` of the data folder, with mode 0600. It is created at first use, so that an agent starts even on a read-only disk. Throws if
 * the key can't be read, can be read by others, or has the wrong length.
 */
export function openSealer(dataDir: string): Sealer {
  const path = join(dataDir, "machine.key");
  let known = existsSync(path) ? keyAt(path) : null;
  const machineKey = (): Buffer => {
    if (known !== null) return known;
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    writeFileSync(path, randomBytes(KEY_BYTES), { flag: "wx", mode: 0o600, flush: true });
    return (known = keyAt(path));
  };
  return {
    seal(plain) {
      const key = machineKey();
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv("aes-256-gcm", key, nonce);
      const body = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()]);
      const mark = createHmac("sha256", key).update(plain).digest("base64url").slice(0, MARK_CHARS);
      return { sealed: Buffer.concat([nonce, cipher.getAuthTag(), body]).toString("base64url"), mark };
    },
    open({ sealed }) {
      const bytes = Buffer.from(sealed, "base64url");
      try {
        const options = { authTagLength: TAG_BYTES };
        const decipher = createDecipheriv("aes-256-gcm", machineKey(), bytes.subarray(0, NONCE_BYTES), options);
        decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
        const body = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES));
        return Buffer.concat([body, decipher.final()]).toString("utf8");
      } catch {
        // Returns null if another machine sealed the secret, or if it is damaged. The caller then asks the service for it again.
        return null;
      }
    },
  };
}

function keyAt(path: string): Buffer {
  const key = readFileSync(ownFile(path));
  if (key.length !== KEY_BYTES) throw new Error(`${path} is damaged: delete it, and what it sealed is fetched again`);
  return key;
}
