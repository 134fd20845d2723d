import type { CertificateStatus } from "./status.ts";
import type { EpochMs } from "./units.ts";

/** A certificate that a link depends on. */
export interface KnownCertificate {
  readonly link: "opcua" | "service";
  /** null: the gateway's own; else the server's address. */
  readonly server: string | null;
  readonly expires: EpochMs;
}

/** People need time to go to a PLC: said a month before. */
const SAY_BEFORE_MS = 30 * 86_400_000;

/** How a certificate stands at this instant, and what to do about it. Pure. */
export function certificateStatus(known: KnownCertificate, now: EpochMs): CertificateStatus {
  const { expires } = known;
  if (expires - now > SAY_BEFORE_MS) return { ...known, state: "valid", advice: "" };
  return { ...known, state: expires > now ? "ends_soon" : "expired", advice: adviceFor(known) };
}

function adviceFor({ link, server }: KnownCertificate): string {
  if (link === "service") {
    return server === null
      ? "put a new one into service.client_certificate_file; it is read at the next connection"
      : "tell whoever runs the service";
  }
  return server === null
    ? "the next connection to an OPC UA server makes a new one: restart the agent, then let each PLC trust it"
    : "renew it in the PLC and pin the new one";
}
