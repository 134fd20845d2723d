import { certificateStatus, type KnownCertificate } from "../core/certificates.ts";
import type { Clock, Logger } from "../ports.ts";

/** Says once of each certificate that it ends within a month, or has ended. To be asked now and then. */
export function certificateNews(
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
  certificates: () => readonly KnownCertificate[],
): () => void {
  const said = new Set<string>();
  return () => {
    for (const known of certificates()) {
      const { server, expires, state, advice } = certificateStatus(known, clock.wall());
      const key = `${server ?? ""} ${expires.toString()} ${state}`;
      if (state === "valid" || said.has(key)) continue;
      said.add(key);
      const whose = server === null ? "the gateway's client certificate" : `the certificate of ${server}`;
      const until = new Date(expires).toISOString().slice(0, 10);
      const text = `${whose} ${state === "expired" ? "ended" : "ends"} on ${until}: ${advice}`;
      log.warn({ event: "certificate_ends", server, until, state }, text);
    }
  };
}
