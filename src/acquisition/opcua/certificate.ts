import { createHash, X509Certificate } from "node:crypto";

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
