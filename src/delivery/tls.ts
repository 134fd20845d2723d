import { readFileSync } from "node:fs";
import { rootCertificates } from "node:tls";

/** A site's own authority beside the public ones: given alone, it would take their place. */
export function withPublicRoots(ca: string): string[] {
  return [...rootCertificates, ca];
}

/** What this box shows of itself where the service asks for a certificate, PEM. */
export type ClientCertificate = Readonly<Record<"cert" | "key", string>>;

/** Reads the files anew each time, so that a renewed certificate is used from the next session on. Throws as reading does. */
export function clientCertificateIn(certificate_file: string, key_file: string): () => ClientCertificate {
  return () => ({ cert: readFileSync(certificate_file, "utf8"), key: readFileSync(key_file, "utf8") });
}
