import { say } from "./sentences.ts";
/**
 * What went wrong with a link, and what the technician can do about it while it is down. refused: no connection (refused,
 * unreachable, name unknown); timeout: no answer within the deadline; reset: broken off; malformed: an answer that isn't one to
 * our request; closed: ended in order, by the peer or by us; busy: the device asks to come back later; path: a gateway in
 * between can't reach the device; config: asked for something impossible.
 */
export const LINK_ERROR_KINDS = [
  "refused",
  "timeout",
  "reset",
  "malformed",
  "closed",
  "busy",
  "path",
  "config",
] as const;
export type LinkErrorKind = (typeof LINK_ERROR_KINDS)[number];

export function adviceFor(kind: LinkErrorKind): string {
  return say(`plc.check.${kind}`);
}

/** The only error that a driver rejects with. The link is unusable after it: close the driver and make a new one. */
export class LinkError extends Error {
  override readonly name = "LinkError";
  readonly kind: LinkErrorKind;

  constructor(kind: LinkErrorKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
  }
}

/** What an abort ends a connection with: the answer that is still to come could be taken for the next one's. */
export function abortedBy({ reason }: AbortSignal): LinkError {
  const late = reason instanceof Error && reason.name === "TimeoutError";
  return new LinkError(late ? "timeout" : "closed", say("plc.closed.given_up"), reason);
}

/** Why a session with the service's broker couldn't begin, or ended. Each is shown as a state of its own. */
export type ServiceLinkFault =
  | "unknown_host"
  | "unreachable"
  | "unanswered"
  | "certificate_expired"
  | "certificate_not_yet_valid"
  | "certificate_name"
  | "certificate_authority"
  | "certificate_wanted"
  | "tls"
  | "credential"
  | "not_allowed"
  | "taken_over"
  | "limit"
  | "protocol"
  | "closed"
  | "no_ack";

/** What to do about it. */
export function serviceAdviceFor(fault: ServiceLinkFault): string {
  return say(`service.check.${fault === "no_ack" ? "closed" : fault}`);
}

/** The only error that a link to the service rejects with, or ends with. `message` is for people and holds no secret. */
export class ServiceLinkError extends Error {
  override readonly name = "ServiceLinkError";
  readonly fault: ServiceLinkFault;

  constructor(fault: ServiceLinkFault, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.fault = fault;
  }
}

/** Node's codes; and reason codes of a refused connection: MQTT 3.1.1, 3.2.2.3, and MQTT 5, 3.2.2.2. */
const CODES: Readonly<Partial<Record<ServiceLinkFault, readonly (string | number)[]>>> = {
  unknown_host: ["ENOTFOUND", "EAI_AGAIN", "EAI_FAIL"],
  unreachable: ["ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH", 3, 136, 137],
  certificate_expired: ["CERT_HAS_EXPIRED"],
  certificate_not_yet_valid: ["CERT_NOT_YET_VALID"],
  certificate_name: ["ERR_TLS_CERT_ALTNAME_INVALID"],
  certificate_authority: [
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    "UNABLE_TO_GET_ISSUER_CERT",
    "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
    "SELF_SIGNED_CERT_IN_CHAIN",
    "DEPTH_ZERO_SELF_SIGNED_CERT",
    "CERT_SIGNATURE_FAILURE",
    "CERT_REVOKED",
  ],
  certificate_wanted: ["ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED"],
  tls: ["ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE", "EPROTO"],
  credential: [2, 4, 5, 133, 134, 135, 138],
  taken_over: [142],
  limit: [0x95, 0x9a, 0x9b],
  closed: ["EPIPE"],
};
const BY_CODE = new Map(
  Object.entries(CODES).flatMap(([fault, codes]) => codes.map((code) => [code, fault as ServiceLinkFault])),
);

/** What the code of a failed connection means; null: it says nothing. */
export function faultOfCode(code: string | number): ServiceLinkFault | null {
  const known = BY_CODE.get(code);
  if (known !== undefined) return known;
  if (typeof code === "number") return code > 0 ? "protocol" : null;
  if (/^ERR_SSL_.*ALERT.*CERTIFICATE/.test(code)) return "certificate_wanted";
  return /^ERR_(SSL|TLS)_/.test(code) ? "tls" : null;
}

/** Another way to the same broker may do better: the service was not reached at all. */
export function isWayBlocked(fault: ServiceLinkFault): boolean {
  return fault === "unreachable" || fault === "unanswered" || fault === "unknown_host";
}
