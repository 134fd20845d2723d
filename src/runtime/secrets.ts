import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ServiceConfig } from "../config/port.ts";
import { ownFile, readSecretFile, secretIn } from "../credential-files.ts";
import type { Sealer, Secrets } from "../domain/machine.ts";

/**
 * The first key of the service: a systemd credential, else a file that only its owner can read. It is read anew each time, so
 * that a new key counts at the next try. If the file can't be used, the last key known stays in use; the agent polls without any
 * key, and reports the file as it reports every file of the configuration.
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
    // Not there yet: a gateway polls before anybody has brought it a key.
    if (path === undefined || !existsSync(path)) return null;
    return isCredential ? secretIn(path) : readSecretFile(path);
  };
  let known: string | null = null;
  const firstKey = (): string | null => {
    try {
      known = read();
    } catch {
      // Half-written, or open to others.
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

/** Overwritten before it goes, as far as a file system lets anybody do that. Gives what is left to do by hand; null: nothing. */
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
/** NIST SP 800-38D: 96 random bits for each message; the few passwords of a box never come near its limit of 2^32. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const MARK_CHARS = 16;

/**
 * Seals secrets with a key of this machine (`machine.key` of the data folder, mode 0600, made once, at its first use: an agent
 * starts on a disk that is read-only as well): AES-256-GCM, a fresh nonce each. Throws where the key can't be read, can be read by others, or isn't one.
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
        // Another machine's, or damaged: an expected outcome, after which the service is asked again.
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
