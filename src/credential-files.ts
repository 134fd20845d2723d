import { message } from "./domain/message.ts";
import { MessageError } from "./domain/messages/message-error.ts";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";

/**
 * An unusable file of a certificate, private key or secret. The command `check` reads a file with the same functions as a connection, so
 * both report the same fault in the same words. The message names the file, the reason and the remedy, but quotes nothing from the file.
 */
export class FileError extends MessageError {
  override readonly name = "FileError";
}

/** Size limit of a PEM file. The system's list of public authorities has 220 kB. */
const MAX_PEM_BYTES = 1_048_576;
/** Size limit of a secret. It exceeds the length of any password, token or key of a service. */
const MAX_SECRET_BYTES = 4_096;
const LEAST_TOKEN = 32;
const PIN = /^[\s-]*(?:\d[\s-]*){8,32}$/;
const CERTIFICATE = /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----[^]*?-----END (?:TRUSTED |X509 )?CERTIFICATE-----/g;

/** Returns the secret in a file, without white space around it. Throws a FileError unless only the owner can read the file. */
export function readSecretFile(path: string): string {
  return secretIn(ownFile(path));
}

/** Returns the secret in a file of the service manager. The service manager decides the file's mode, so the mode isn't checked. */
export function secretIn(path: string): string {
  return unlessEmpty(bytesOf(path, MAX_PEM_BYTES).toString("utf8").slice(0, MAX_SECRET_BYTES).trim(), path);
}

/** Returns the password in a file. A password may start or end with blanks, so only the last line break is removed. */
export function passwordIn(path: string): string {
  return unlessEmpty(
    bytesOf(path, MAX_SECRET_BYTES)
      .toString("utf8")
      .replace(/\r?\n$/, ""),
    path,
  );
}

function unlessEmpty(text: string, path: string): string {
  if (text === "") throw new FileError(message("file.empty", { file: path }));
  return text;
}

/** Returns the path. Throws a FileError if anybody but the owner can read the file. */
export function ownFile(path: string): string {
  const mode = reading(path, () => statSync(path)).mode & 0o777;
  if ((mode & 0o077) === 0) return path;
  throw new FileError(message("file.open", { file: path, mode: mode.toString(8) }));
}

/** Returns the PIN for the gateway's web page. */
export function readPinFile(path: string): string {
  const pin = readSecretFile(path);
  if (!PIN.test(pin)) throw new FileError(message("file.pin", { file: path }));
  return pin;
}

/** Returns the bearer token of a metrics scraper. */
export function readTokenFile(path: string): string {
  const token = readSecretFile(path);
  if (token.length < LEAST_TOKEN) throw new FileError(message("file.token", { file: path, least: LEAST_TOKEN }));
  return token;
}

/** Returns the first certificate of a file in PEM or DER form. In a chain, the first certificate is the holder's. */
export function readCertificate(path: string): X509Certificate {
  try {
    return parseCertificate(bytesOf(path, MAX_PEM_BYTES));
  } catch (error) {
    if (error instanceof FileError) throw error;
    throw new FileError(message("file.no_certificate", { file: path }));
  }
}

/** Parses the first certificate of a text or chain, PEM or DER. Throws an error of OpenSSL if the bytes are no certificate. */
export function parseCertificate(bytes: Buffer): X509Certificate {
  const isPem = bytes.includes("-----BEGIN CERTIFICATE-----");
  return new X509Certificate(isPem ? bytes : firstOf(bytes));
}

/**
 * Returns the first certificate of a chain in DER form. The chain is a sequence of certificates, each of which starts with its length
 * (X.690, 8.1.3.5).
 */
function firstOf(chain: Buffer): Buffer {
  return isDer(chain) && chain.length >= 4 ? chain.subarray(0, 4 + chain.readUInt16BE(2)) : chain;
}

/** Returns the PEM text of a file of certificates. Throws a FileError unless every certificate can be parsed. */
export function readCertificates(path: string): string {
  const bytes = bytesOf(path, MAX_PEM_BYTES);
  const text = bytes.toString("latin1");
  const certificates = text.match(CERTIFICATE) ?? [];
  if (certificates.length === 0)
    throw new FileError(message(isDer(bytes) ? "file.der" : "file.no_pem", { file: path }));
  for (const [index, pem] of certificates.entries()) {
    if (!isCertificate(pem)) throw new FileError(message("file.bad_certificate", { file: path, number: index + 1 }));
  }
  return text;
}

/** Returns whether a text has a certificate that another authority has signed. */
export function hasIntermediate(pem: string): boolean {
  return (pem.match(CERTIFICATE) ?? []).some((text) => {
    const certificate = new X509Certificate(text);
    return !certificate.checkIssued(certificate);
  });
}

/** A certificate chain and its private key, PEM. */
export type CertificatePair = Readonly<Record<"cert" | "key", string>>;

/** Reads the certificate file and the key file. Throws a FileError if the key has a passphrase or belongs to another certificate. */
export function readCertificatePair(certificate_file: string, key_file: string): CertificatePair {
  const cert = readCertificates(certificate_file);
  return { cert, key: readKeyOf(readCertificate(certificate_file), { file: certificate_file, key_file }) };
}

/** Returns the PEM text of a certificate's private key. */
export function readKeyOf(
  certificate: X509Certificate,
  { file, key_file }: { readonly file: string; readonly key_file: string },
): string {
  const key = readPrivateKey(key_file);
  if (certificate.checkPrivateKey(createPrivateKey(key))) return key;
  throw new FileError(message("file.other_key", { file, key_file }));
}

/** Returns the PEM text of a private key without a passphrase. */
export function readPrivateKey(path: string): string {
  const text = bytesOf(path, MAX_PEM_BYTES).toString("latin1");
  if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type:.*ENCRYPTED/m.test(text)) {
    throw new FileError(message("file.passphrase", { file: path }));
  }
  try {
    createPrivateKey(text);
    return text;
  } catch {
    // Drops the message of OpenSSL, because it may quote the file.
    throw new FileError(message("file.no_key", { file: path }));
  }
}

/** Returns whether the bytes are DER: a SEQUENCE with a length of two bytes, like every certificate (X.690, 8.1.2). */
function isDer(bytes: Buffer): boolean {
  return bytes[0] === 0x30 && bytes[1] === 0x82;
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}

function bytesOf(path: string, most: number): Buffer {
  const { size } = reading(path, () => statSync(path));
  if (size > most) throw new FileError(message("file.too_large", { file: path, bytes: size, most }));
  return reading(path, () => readFileSync(path));
}

function reading<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
    if (code === "ENOENT" || code === "ENOTDIR") throw new FileError(message("file.missing", { file: path }));
    if (code === "EACCES" || code === "EPERM") throw new FileError(message("file.no_right", { file: path }));
    throw new FileError(message("file.unreadable", { file: path, code }));
  }
}
