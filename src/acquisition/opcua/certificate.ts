import { createHash, createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { LinkError } from "../../domain/link-error.ts";

/** SHA-256 of a certificate in DER, 64 lower-case hex digits. */
export function fingerprintOf(der: Buffer): string {
  return createHash("sha256").update(der).digest("hex");
}

/** In pairs, as a PLC's own display shows it. */
export function shownFingerprint(fingerprint: string): string {
  return (fingerprint.toUpperCase().match(/../g) ?? []).join(":");
}

/** Reads PEM or DER; of a chain the first certificate, which is the server's own. Throws where there is none. */
export function parseCertificate(bytes: Buffer): X509Certificate {
  const isPem = bytes.includes("-----BEGIN CERTIFICATE-----");
  return new X509Certificate(isPem ? bytes : firstOf(bytes));
}

/** A chain in DER is certificates one after the other, each telling its length (X.690, 8.1.3.5). */
function firstOf(chain: Buffer): Buffer {
  if (chain.length < 4 || chain[0] !== 0x30 || chain[1] !== 0x82) return chain;
  return chain.subarray(0, 4 + chain.readUInt16BE(2));
}

/** Bits of an RSA key; 0 for other keys, which no policy of ours can use. */
export function rsaBits(certificate: X509Certificate): number {
  return certificate.publicKey.asymmetricKeyDetails?.modulusLength ?? 0;
}

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
  { file, key_file }: { file: string; key_file: string },
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
  const mode = reading(file, () => statSync(file)).mode & 0o777;
  if ((mode & 0o077) !== 0) {
    throw new LinkError("config", `${file} can be read by others (mode ${mode.toString(8)}): chmod 600 ${file}`);
  }
  const text = readFile(file)
    .toString("utf8")
    .replace(/\r?\n$/, "");
  if (text === "") throw new LinkError("config", `${file} is empty`);
  return text;
}

function readFile(file: string): Buffer {
  const bytes = reading(file, () => readFileSync(file));
  if (bytes.length > MAX_FILE_BYTES) throw new LinkError("config", `${file} is too large`);
  return bytes;
}

function reading<T>(file: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new LinkError("config", `${file} can't be read`, cause);
  }
}
