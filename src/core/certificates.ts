import type { CertificateStatus } from "./types/status.ts";
import type { EpochMs } from "./types/units.ts";

/** A certificate that a link depends on. */
export interface KnownCertificate {
  /** null: the gateway's own; else the server's address. */
  readonly server: string | null;
  readonly expires: EpochMs;
}

/** People need time to go to a PLC: said a month before. */
const SAY_BEFORE_MS = 30 * 86_400_000;

/** How a certificate stands at this instant, and what to do about it. Pure. */
export function certificateStatus({ server, expires }: KnownCertificate, now: EpochMs): CertificateStatus {
  if (expires - now > SAY_BEFORE_MS) return { server, expires, state: "valid", advice: "" };
  const advice =
    server === null
      ? "the next connection to an OPC UA server makes a new one: restart the agent, then let each PLC trust it"
      : "renew it in the PLC and pin the new one";
  return { server, expires, state: expires > now ? "ends_soon" : "expired", advice };
}
