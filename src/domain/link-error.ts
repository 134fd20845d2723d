/**
 * What went wrong with a link, and what the technician can do about it while it is down. refused: no connection (refused,
 * unreachable, name unknown); timeout: no answer within the deadline; reset: broken off; malformed: an answer that isn't one to
 * our request; closed: ended in order, by the peer or by us; busy: the device asks to come back later; path: a gateway in
 * between can't reach the device; config: asked for something impossible.
 */
const ADVICE = {
  refused: "check the PLC's power, the cable, and address and port in the configuration",
  timeout: "check the cable and the unit id; another master may hold the PLC's only connection",
  reset: "the PLC broke the connection off: another master may hold its only connection",
  malformed: "check that address and port belong to the PLC and nothing else answers there",
  closed: "nothing to do: the PLC closed the connection, a new one is made",
  busy: "nothing to do: the PLC asks to come back later",
  path: "check the serial line behind the Modbus gateway and the unit id",
  config: "correct the configuration as the reason says",
};

export type LinkErrorKind = keyof typeof ADVICE;
export const LINK_ERROR_KINDS = Object.keys(ADVICE) as readonly LinkErrorKind[];

export function adviceFor(kind: LinkErrorKind): string {
  return ADVICE[kind];
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
  return new LinkError(late ? "timeout" : "closed", "given up by the gateway", reason);
}

const KEPT = "readings are kept and sent when the link is back";

/** Why a session with the service's broker couldn't begin, or ended, and what to do about it. Each is shown as a state of its own. */
const SERVICE_ADVICE = {
  unknown_host: `compare the address with the service's, and see to the site's name server; ${KEPT}`,
  unreachable: `nothing to do where the network is being worked on; else see whether a firewall holds the port back; ${KEPT}`,
  unanswered: `nothing to do where the broker is starting anew; else see whether MQTT is switched on at that port, and what the broker's own log says; ${KEPT}`,
  certificate_expired: `the service's certificate has ended: tell whoever runs the service; compare this box's date; ${KEPT}`,
  certificate_not_yet_valid: `compare this box's date with a clock, then the service's certificate; ${KEPT}`,
  certificate_name: `the certificate is of another server: compare the address, and see whether the site's network redirects it; ${KEPT}`,
  certificate_authority: `nobody known here signed the certificate: where the site looks into TLS, give its authority as service.ca_file; ${KEPT}`,
  certificate_wanted: `the service asks for a client certificate, or doesn't take ours: see service.client_certificate_file; ${KEPT}`,
  tls: `see whether something on the way looks into TLS, or offers a version before 1.2; ${KEPT}`,
  credential: `the service doesn't take this gateway's key: see whether it was revoked; ${KEPT}`,
  not_allowed: `the broker doesn't allow this gateway its own topics: tell whoever runs the service; ${KEPT}`,
  taken_over: `another box uses this gateway's identity, as a copied disk does: take it off the network; ${KEPT}`,
  protocol: `what answers there is no broker as it should be: compare the address; ${KEPT}`,
  closed: `nothing to do: ${KEPT}`,
  no_ack: `nothing to do: ${KEPT}`,
};

export type ServiceLinkFault = keyof typeof SERVICE_ADVICE;

export function serviceAdviceFor(fault: ServiceLinkFault): string {
  return SERVICE_ADVICE[fault];
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
