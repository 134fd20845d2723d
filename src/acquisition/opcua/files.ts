import { createPrivateKey } from "node:crypto";
import type { X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";

import { LinkError } from "../../domain/link-error.ts";
import { parseCertificate } from "./certificate.ts";

/** Files that the configuration names. Every failure is a LinkError that names the file and holds nothing of it. */

const MAX_FILE_BYTES = 16_384;

/** The first certificate of a file, PEM or DER. */
export function readCertificateFile(file: string): X509Certificate {
  const bytes = readFile(file);
  try {
    return parseCertificate(bytes);
  } catch (cause) {
    throw new LinkError("config", `${file} holds no certificate that can be read`, cause);
  }
}

/** The private key of a certificate, PEM; mode 0600. */
export function readKeyOf(
  certificate: X509Certificate,
  { file, key_file }: { readonly file: string; readonly key_file: string },
): string {
  const pem = readSecret(key_file);
  if (!certificate.checkPrivateKey(privateKeyIn(pem, key_file))) {
    throw new LinkError("config", `the key in ${key_file} doesn't belong to the certificate in ${file}`);
  }
  return pem;
}

function privateKeyIn(pem: string, file: string): ReturnType<typeof createPrivateKey> {
  try {
    return createPrivateKey(pem);
  } catch {
    // What OpenSSL says may quote the file.
    throw new LinkError("config", `${file} holds no private key that can be read (PEM, without a passphrase)`);
  }
}

/** The text of a file that nobody else may read, without its last line break. */
export function readSecret(file: string): string {
  const mode = modeOf(file);
  if ((mode & 0o077) !== 0) {
    throw new LinkError("config", `${file} can be read by others (mode ${mode.toString(8)}): chmod 600 ${file}`);
  }
  const text = readFile(file)
    .toString("utf8")
    .replace(/\r?\n$/, "");
  if (text === "") throw new LinkError("config", `${file} is empty`);
  return text;
}

function modeOf(file: string): number {
  try {
    return statSync(file).mode & 0o777;
  } catch (cause) {
    throw new LinkError("config", `${file} can't be read`, cause);
  }
}

function readFile(file: string): Buffer {
  try {
    const bytes = readFileSync(file);
    if (bytes.length <= MAX_FILE_BYTES) return bytes;
  } catch (cause) {
    throw new LinkError("config", `${file} can't be read`, cause);
  }
  throw new LinkError("config", `${file} is too large`);
}
