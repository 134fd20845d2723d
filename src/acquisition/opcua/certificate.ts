import { createHash, type X509Certificate } from "node:crypto";
import { FileError, ownFile, passwordIn, readCertificate, readKeyOf as readKey } from "../../credential-files.ts";
import { LinkError } from "../../domain/link-error.ts";

export { parseCertificate } from "../../credential-files.ts";

/** SHA-256 of a certificate in DER, 64 lower-case hex digits. */
export function fingerprintOf(der: Buffer): string {
  return createHash("sha256").update(der).digest("hex");
}

/** In pairs, as a PLC's own display shows it. */
export function shownFingerprint(fingerprint: string): string {
  return (fingerprint.toUpperCase().match(/../g) ?? []).join(":");
}

/** Bits of an RSA key; 0 for other keys, which no policy of ours can use. */
export function rsaBits(certificate: X509Certificate): number {
  return certificate.publicKey.asymmetricKeyDetails?.modulusLength ?? 0;
}

/** Every failure of a file that the configuration names is a LinkError that holds nothing of the file. */

/** The first certificate of a file, PEM or DER. */
export function readCertificateFile(file: string): X509Certificate {
  return asLinkError(() => readCertificate(file));
}

/** The private key of a certificate, PEM; mode 0600. */
export function readKeyOf(certificate: X509Certificate, files: { file: string; key_file: string }): string {
  return asLinkError(() => {
    ownFile(files.key_file);
    return readKey(certificate, files);
  });
}

/** The text of a file that nobody else may read, without its last line break. */
export function readSecret(file: string): string {
  return asLinkError(() => passwordIn(ownFile(file)));
}

function asLinkError<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof FileError) throw new LinkError("config", cause.message, cause);
    throw cause;
  }
}
