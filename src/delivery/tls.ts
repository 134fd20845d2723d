import { readFileSync } from "node:fs";
import { X509Certificate } from "node:crypto";
import { rootCertificates } from "node:tls";
import type { EpochMs } from "../domain/units.ts";

/** A site's own authority beside the public ones: given alone, it would take their place. */
export function withPublicRoots(ca: string): string[] {
  return [...rootCertificates, ca];
}

/** What this box shows of itself where the service asks for a certificate, PEM. */
export interface ClientCertificate {
  readonly cert: string;
  readonly key: string;
}

/** Reads the files anew each time, so that a renewed certificate is used from the next session on. Throws as reading does. */
export function clientCertificateIn(certificate_file: string, key_file: string): () => ClientCertificate {
  return () => ({ cert: readFileSync(certificate_file, "utf8"), key: readFileSync(key_file, "utf8") });
}

/** When a certificate ends. Throws where the text holds none. */
export function endOfCertificate(pem: string): EpochMs {
  return new X509Certificate(pem).validToDate.getTime();
}
