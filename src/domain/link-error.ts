import { type Text, message } from "./message.ts";
import { MessageError } from "./messages/message-error.ts";
import { isSerialPath } from "./plc-address.ts";

/**
 * The kinds of failure of a PLC link. Each kind has its own advice for the technician.
 * - refused: no connection (refused, unreachable, name unknown)
 * - timeout: no answer within the deadline
 * - reset: the connection was broken off
 * - malformed: an answer that doesn't match the request
 * - closed: closed in order, by the device or by the agent
 * - busy: the device asks to retry later
 * - path: a Modbus gateway on the path can't reach the device
 * - config: an impossible request
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

/** Returns advice for a failed link to the PLC at this address, which has the form that `plcAddress` writes. */
export function adviceFor({ kind, advice }: Pick<LinkError, "kind" | "advice">, address: string): Text {
  if (advice !== null) return advice;
  const isLine = isSerialPath(address) && (LINE_KINDS as readonly string[]).includes(kind);
  return isLine ? message(`plc.line.${kind as (typeof LINE_KINDS)[number]}`) : message(`plc.check.${kind}`);
}

/**
 * Kinds of failure with separate advice for a serial line. Their usual advice mentions an address, a port or a second master, which a
 * serial line lacks.
 */
const LINE_KINDS = ["refused", "timeout", "reset", "malformed", "closed"] as const;

/** The only error that a driver rejects with. The driver's connection is then unusable: the caller closes the driver and makes another. */
export class LinkError extends MessageError {
  override readonly name = "LinkError";
  readonly kind: LinkErrorKind;
  /** Advice that is more specific than the advice of the kind; null: the kind's advice applies. */
  readonly advice: Text | null = null;

  constructor(kind: LinkErrorKind, text: Text, cause?: unknown) {
    super(text, cause);
    this.kind = kind;
  }
}

/** A LinkError with its own advice, because the wrong answer reveals its cause. */
export class AdvisedLinkError extends LinkError {
  override readonly advice: Text;

  constructor(kind: LinkErrorKind, text: Text, advice: Text) {
    super(kind, text);
    this.advice = advice;
  }
}

/** An error: the device itself closed the connection, in order (closed) or with a reset. */
export class PeerClosed extends LinkError {}

/**
 * Returns the error for an aborted connection. The connection must be closed, because a late answer could be mistaken for the answer to the
 * next request.
 */
export function abortedBy({ reason }: AbortSignal): LinkError {
  const late = reason instanceof Error && reason.name === "TimeoutError";
  return new LinkError(late ? "timeout" : "closed", message("plc.closed.given_up"), reason);
}

/** Reasons why a session with the service's broker failed to start, or ended. Each reason is shown as a separate state. */
export type ServiceLinkFault =
  | "unknown_host"
  | "unreachable"
  | "unanswered"
  | "certificate_expired"
  | "certificate_not_yet_valid"
  | "certificate_name"
  | "certificate_authority"
  | "certificate_chain"
  | "certificate_refused"
  | "certificate_wanted"
  | "tls"
  | "not_tls"
  | "file"
  | "credential"
  | "not_allowed"
  | "taken_over"
  | "limit"
  | "protocol"
  | "closed"
  | "no_ack";

/** Returns the advice for people about a fault of the service link. */
export function serviceAdviceFor(fault: ServiceLinkFault): Text {
  return message(`service.check.${fault === "no_ack" ? "closed" : fault}`);
}

/** The only error that a link to the service rejects or ends with. `message` is text for people and contains no secret. */
export class ServiceLinkError extends MessageError {
  override readonly name = "ServiceLinkError";
  readonly fault: ServiceLinkFault;

  constructor(fault: ServiceLinkFault, text: Text, cause?: unknown) {
    super(text, cause);
    this.fault = fault;
  }
}

/** Error codes of Node, and reason codes of a refused connection in MQTT 3.1.1 (3.2.2.3) and MQTT 5 (3.2.2.2). */
const CODES: Readonly<Partial<Record<ServiceLinkFault, readonly (string | number)[]>>> = {
  unknown_host: ["ENOTFOUND", "EAI_AGAIN", "EAI_FAIL"],
  unreachable: ["ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH", 3, 136, 137],
  certificate_expired: ["CERT_HAS_EXPIRED"],
  certificate_not_yet_valid: ["CERT_NOT_YET_VALID"],
  certificate_name: ["ERR_TLS_CERT_ALTNAME_INVALID"],
  // OpenSSL doesn't know the issuer of the only certificate that the server sent.
  certificate_chain: ["UNABLE_TO_VERIFY_LEAF_SIGNATURE"],
  certificate_authority: [
    "UNABLE_TO_GET_ISSUER_CERT",
    "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
    "SELF_SIGNED_CERT_IN_CHAIN",
    "DEPTH_ZERO_SELF_SIGNED_CERT",
  ],
  certificate_refused: [
    "CERT_SIGNATURE_FAILURE",
    "CERT_REVOKED",
    "CERT_REJECTED",
    "CERT_UNTRUSTED",
    "INVALID_CA",
    "INVALID_PURPOSE",
    "PATH_LENGTH_EXCEEDED",
    "CERT_CHAIN_TOO_LONG",
  ],
  certificate_wanted: ["ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED", "ERR_SSL_TLSV1_ALERT_UNKNOWN_CA"],
  tls: ["ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE", "EPROTO"],
  // First answers of an HTTP server, an SMTP server or a broker that doesn't use TLS.
  not_tls: [
    "ERR_SSL_WRONG_VERSION_NUMBER",
    "ERR_SSL_PACKET_LENGTH_TOO_LONG",
    "ERR_SSL_HTTP_REQUEST",
    "ERR_SSL_UNEXPECTED_MESSAGE",
    "ERR_SSL_RECORD_LAYER_FAILURE",
    "ERR_SSL_BAD_RECORD_TYPE",
  ],
  credential: [2, 4, 5, 133, 134, 135, 138],
  taken_over: [142],
  limit: [0x95, 0x9a, 0x9b],
  closed: ["EPIPE"],
};
const BY_CODE = new Map(
  Object.entries(CODES).flatMap(([fault, codes]) => codes.map((code) => [code, fault as ServiceLinkFault])),
);

/** Returns the fault that the code of a failed connection means; null: the code is not known here. */
export function faultOfCode(code: string | number): ServiceLinkFault | null {
  const known = BY_CODE.get(code);
  if (known !== undefined) return known;
  if (typeof code === "number") return code > 0 ? "protocol" : null;
  if (/^ERR_SSL_.*ALERT.*CERTIFICATE/.test(code)) return "certificate_wanted";
  return /^ERR_(SSL|TLS)_/.test(code) ? "tls" : null;
}

/** Maximum length of a list of names in a sentence. Certificates of content delivery networks have hundreds of names. */
const MAX_NAMES = 200;

/** Details of a failed TLS connection that appear in a sentence. */
interface TlsFailure {
  readonly code: string;
  readonly host: string;
  readonly names: string;
}

/** Returns a sentence about an error of a TLS connection; null: another error. `today`: the date for judging certificates. */
export function tlsSentence(error: unknown, today: string): Text | null {
  const failure = tlsFailureIn(error);
  if (failure === null) return null;
  const { code, host, names } = failure;
  switch (code) {
    case "CERT_HAS_EXPIRED":
      return message("tls.expired", { today });
    case "CERT_NOT_YET_VALID":
      return message("tls.not_yet_valid", { today });
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return message("tls.name", { host, names });
    case "DEPTH_ZERO_SELF_SIGNED_CERT":
      return message("tls.self_signed");
    case "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED":
      return message("tls.client_wanted");
    case "ERR_SSL_TLSV1_ALERT_UNKNOWN_CA":
      return message("tls.client_unknown");
    case "ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED":
      return message("tls.client_expired");
    case "ERR_SSL_UNSUPPORTED_PROTOCOL":
    case "ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION":
      return message("tls.version");
    case "ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE":
      return message("tls.cipher");
    case "ECONNRESET":
      return message("tls.broken_off");
  }
  switch (faultOfCode(code)) {
    case "certificate_chain":
      return message("tls.chain");
    case "certificate_authority":
      return message("tls.authority");
    case "certificate_refused":
      return message("tls.not_accepted", { code });
    case "certificate_wanted":
      return message("tls.client_refused");
    case "not_tls":
      return message("tls.none");
    case "tls":
      return message("tls.failed", { code });
    default:
      return null;
  }
}

/** Maximum depth of nested errors. Libraries put Node's error into a cause, an event, or the first of several errors. */
const MAX_NESTED = 5;

function tlsFailureIn(error: unknown): TlsFailure | null {
  let at: unknown = error;
  for (let depth = 0; depth < MAX_NESTED && typeof at === "object" && at !== null; depth += 1) {
    const { code, originalCode, message } = at as Readonly<Record<string, unknown>>;
    const given = typeof originalCode === "string" ? originalCode : code;
    const named = given === "EPROTO" ? opensslCode(String(message)) : given;
    const isHandshake = named === "ECONNRESET" && String(message).includes("before secure TLS connection");
    if (typeof named === "string" && (isHandshake || isTlsCode(named))) return { code: named, ...namesIn(at) };
    const { cause, event, errors } = at as Readonly<Record<string, unknown>>;
    const inEvent = typeof event === "object" && event !== null && "error" in event ? event.error : undefined;
    at = Array.isArray(errors) ? (errors as unknown[])[0] : (inEvent ?? cause);
  }
  return null;
}

/** Returns OpenSSL's error code. If a write fails, the code is EPROTO, and OpenSSL's reason is only in the message. */
function opensslCode(message: string): string {
  const reason = /:SSL routines:[^:]*:([^:]+):/.exec(message)?.[1];
  return reason === undefined ? "EPROTO" : `ERR_SSL_${reason.toUpperCase().replaceAll(/\W+/g, "_")}`;
}

/** Returns the fault of a failed TLS connection; null: another error. */
export function tlsFaultOf(error: unknown): ServiceLinkFault | null {
  const failure = tlsFailureIn(error);
  return failure === null || failure.code === "ECONNRESET" ? null : faultOfCode(failure.code);
}

/**
 * Returns whether an error code is about TLS. Node's codes for verification have no prefix. Codes for a refused or lost connection have
 * their own sentences.
 */
function isTlsCode(code: string): boolean {
  const fault = faultOfCode(code);
  return fault !== null && (fault.startsWith("certificate_") || fault === "tls" || fault === "not_tls");
}

function namesIn(error: object): Pick<TlsFailure, "host" | "names"> {
  const { host, cert } = error as { readonly host?: unknown; readonly cert?: unknown };
  const { subjectaltname, subject } = Object(cert) as Readonly<Record<string, unknown>>;
  const { CN } = Object(subject) as Readonly<Record<string, unknown>>;
  const names = typeof subjectaltname === "string" ? subjectaltname.replaceAll(/(DNS|IP Address):/g, "") : CN;
  const text = typeof names === "string" ? names.replaceAll(/\p{Cc}/gu, " ").slice(0, MAX_NAMES) : "another name";
  return { host: typeof host === "string" ? host : "this address", names: text };
}

/** Returns whether another path to the same broker may succeed, because the service was not reached at all. */
export function isWayBlocked(fault: ServiceLinkFault): boolean {
  return fault === "unreachable" || fault === "unanswered" || fault === "unknown_host";
}
