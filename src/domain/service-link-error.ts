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
  | "protocol"
  | "closed"
  | "no_ack";

/** The only error that a link to the service rejects with, or ends with. `message` is for people and holds no secret. */
export class ServiceLinkError extends Error {
  override readonly name = "ServiceLinkError";
  readonly fault: ServiceLinkFault;

  constructor(fault: ServiceLinkFault, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.fault = fault;
  }
}

const KEPT = "readings are kept and sent when the link is back";

const ADVICE: Readonly<Record<ServiceLinkFault, string>> = {
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

export function adviceFor(fault: ServiceLinkFault): string {
  return ADVICE[fault];
}

const BY_CODE: Readonly<Record<string, ServiceLinkFault>> = {
  ENOTFOUND: "unknown_host",
  EAI_AGAIN: "unknown_host",
  EAI_FAIL: "unknown_host",
  CERT_HAS_EXPIRED: "certificate_expired",
  CERT_NOT_YET_VALID: "certificate_not_yet_valid",
  ERR_TLS_CERT_ALTNAME_INVALID: "certificate_name",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "certificate_authority",
  UNABLE_TO_GET_ISSUER_CERT: "certificate_authority",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "certificate_authority",
  SELF_SIGNED_CERT_IN_CHAIN: "certificate_authority",
  DEPTH_ZERO_SELF_SIGNED_CERT: "certificate_authority",
  CERT_SIGNATURE_FAILURE: "certificate_authority",
  CERT_REVOKED: "certificate_authority",
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: "certificate_wanted",
  ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE: "tls",
  EPROTO: "tls",
  ECONNREFUSED: "unreachable",
  ECONNRESET: "unreachable",
  ETIMEDOUT: "unreachable",
  EHOSTUNREACH: "unreachable",
  ENETUNREACH: "unreachable",
  EPIPE: "closed",
};

/** Reason codes of a refused connection: MQTT 3.1.1, 3.2.2.3, and MQTT 5, 3.2.2.2. */
const BY_REASON_CODE: Readonly<Record<number, ServiceLinkFault>> = {
  2: "credential",
  3: "unreachable",
  4: "credential",
  5: "credential",
  133: "credential",
  134: "credential",
  135: "credential",
  136: "unreachable",
  137: "unreachable",
  138: "credential",
  142: "taken_over",
};

/** What the code of a failed connection means; null: it says nothing. `code` is Node's, or MQTT's reason code. */
export function faultOfCode(code: string | number): ServiceLinkFault | null {
  if (typeof code === "number") return BY_REASON_CODE[code] ?? (code > 0 ? "protocol" : null);
  const known = BY_CODE[code];
  if (known !== undefined) return known;
  if (/^ERR_SSL_.*ALERT.*CERTIFICATE/.test(code)) return "certificate_wanted";
  return /^ERR_(SSL|TLS)_/.test(code) ? "tls" : null;
}

/** Another way to the same broker may do better: the service was not reached at all. */
export function isWayBlocked(fault: ServiceLinkFault): boolean {
  return fault === "unreachable" || fault === "unanswered" || fault === "unknown_host";
}
