import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { Sealer } from "../domain/machine.ts";

const KEY_BYTES = 32;
/** NIST SP 800-38D: 96 random bits for each message; the few passwords of a box never come near its limit of 2^32. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const MARK_CHARS = 16;

/**
 * Seals secrets with a key of this machine (`machine.key` of the data folder, mode 0600, made once, at its first use: an agent
 * starts on a disk that is read-only as well): AES-256-GCM, a fresh nonce
 * each. Throws where the key can't be read, can be read by others, or isn't one.
 */
export function openSealer(dataDir: string): Sealer {
  const path = join(dataDir, "machine.key");
  let known = isThere(path) ? keyAt(path) : null;
  const machineKey = (): Buffer => (known ??= makeKey(dataDir, path));
  return {
    seal(plain) {
      const [key, nonce] = [machineKey(), randomBytes(NONCE_BYTES)];
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

function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

function keyAt(path: string): Buffer {
  const mode = statSync(path).mode & 0o777;
  if ((mode & 0o077) !== 0) {
    throw new Error(`${path} can be read by others (mode ${mode.toString(8)}): chmod 600 ${path}`);
  }
  const key = readFileSync(path);
  if (key.length !== KEY_BYTES) throw new Error(`${path} is damaged: delete it, and what it sealed is fetched again`);
  return key;
}

function makeKey(dataDir: string, path: string): Buffer {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const file = openSync(path, "wx", 0o600);
  try {
    writeSync(file, randomBytes(KEY_BYTES));
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  return keyAt(path);
}
