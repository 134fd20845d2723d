import { LinkError } from "../../domain/link-error.ts";

const LOGIN_REFUSED = "the server refuses the login";

/** Another password may be taken. */
export function isLoginRefused(error: unknown): boolean {
  return error instanceof LinkError && error.message.startsWith(LOGIN_REFUSED);
}

/** What the refusal of a whole service means for the link, by the standard's name of its status code. */
export function statusError(name: string): LinkError {
  if (BUSY.has(name)) return new LinkError("busy", `the server has no room for another session (${name})`);
  if (LOGIN.has(name)) return new LinkError("config", `${LOGIN_REFUSED} (${name}): check user and password`);
  if (TRUST.test(name)) {
    const advice = "trust the gateway's certificate in the server";
    return new LinkError("config", `the server refuses the gateway's certificate (${name}): ${advice}`);
  }
  if (OVER.has(name)) return new LinkError("closed", `the server has ended the session (${name})`);
  return new LinkError("malformed", `the server refuses the request (${name})`);
}

const BUSY: ReadonlySet<string> = new Set([
  "BadTooManySessions",
  "BadTcpServerTooBusy",
  "BadTcpNotEnoughResources",
  "BadOutOfMemory",
  "BadResourceUnavailable",
  "BadServerHalted",
  "BadShutdown",
]);
const LOGIN: ReadonlySet<string> = new Set([
  "BadIdentityTokenRejected",
  "BadIdentityTokenInvalid",
  "BadUserAccessDenied",
  "BadUserSignatureInvalid",
]);
const TRUST = /^Bad(Certificate|SecurityChecksFailed|ApplicationSignature)/;
const OVER: ReadonlySet<string> = new Set([
  "BadSessionIdInvalid",
  "BadSessionClosed",
  "BadSessionNotActivated",
  "BadNoSubscription",
  "BadSubscriptionIdInvalid",
  "BadTimeout",
  "BadSecureChannelIdInvalid",
  "BadSecureChannelClosed",
  "BadSecureChannelTokenUnknown",
]);
