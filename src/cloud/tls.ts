import { rootCertificates } from "node:tls";

/** A site's own authority beside the public ones: given alone, it would take their place. */
export function withPublicRoots(ca: string): string[] {
  return [...rootCertificates, ca];
}
