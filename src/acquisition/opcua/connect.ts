import { message } from "../../domain/message.ts";
import type { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { OpcuaAddress, OpcuaPolicy } from "../../config/port.ts";
import { abortedBy, LinkError } from "../../domain/link-error.ts";
import { onAbort } from "../../domain/signal.ts";
import type { EpochMs, Milliseconds } from "../../domain/units.ts";
import type { OpcuaOffer, PlcPasswords } from "../port.ts";
import { type Channel, type ChannelOptions, isLoginRefused, secureChannel } from "./channel.ts";
import { type Opcua, opcuaLibrary } from "./library.ts";
import type { OpcuaPki } from "./pki.ts";
import { fingerprintOf, parseCertificate, readCertificateFile, rsaBits, shownFingerprint } from "./pki.ts";
import { FAREWELL_MS, openSession, type Session } from "./session.ts";
import { hostIn } from "./transport.ts";

/** Deadlines of a connection. Each has a default. */
export interface OpcuaTimeouts {
  /** Deadline of opening a secure channel. Default: 5000. */
  readonly connect_ms?: Milliseconds;
  /** Longest time from a request to the end of its answer. Default: 5000. */
  readonly answer_ms?: Milliseconds;
  /** Longest wait for the server to close the session, at an abort or at the end of the connection. Default: 500. */
  readonly farewell_ms?: Milliseconds;
  /** Lifetime of the channel's keys. Default: an hour. */
  readonly keys_ms?: Milliseconds;
}

interface ConnectionOptions {
  readonly address: OpcuaAddress;
  readonly pki: OpcuaPki;
  /** Returns the wall-clock time; only used for the expiry of certificates. */
  readonly wall: () => EpochMs;
  /** Time for which the server keeps a session without requests. */
  readonly idle_ms: Milliseconds;
  /** Returns passwords of a user without a password file. They are tried in order. */
  readonly passwords?: PlcPasswords | undefined;
  readonly timeouts?: OpcuaTimeouts | undefined;
}

type Connecting = Pick<ConnectionOptions, "address" | "pki" | "idle_ms"> & {
  readonly opcua: Opcua;
  readonly now: EpochMs;
  /** Makes a channel that `leave` can end at any time. Throws if the connection has ended. */
  readonly newChannel: (options: Pick<ChannelOptions, "policy" | "certificate" | "keys">) => Channel;
};

/**
 * A connection to one server: channel and session. It is opened once and left once; it can be left at any time. `open` loads the library.
 * Leaving closes first the session, so that the server frees it at once, and then the connection. The first reason is kept.
 */
export function serverConnection(options: ConnectionOptions) {
  const { address, timeouts = {} } = options;
  const { connect_ms = 5000, answer_ms = 5000, farewell_ms = FAREWELL_MS, keys_ms } = timeouts;
  let channel: Channel | null = null;
  let session: Session | null = null;
  let opening: Promise<Session> | null = null;
  let ended: LinkError | null = null;
  let left: Promise<void> | null = null;
  let forget = (): void => undefined;
  const closeSession = async (): Promise<void> => {
    if (session === null) await opening?.catch(() => undefined);
    await session?.close(farewell_ms);
  };
  const leaveOnce = async (reason: LinkError): Promise<void> => {
    forget();
    const timer = new AbortController();
    if (channel !== null) await Promise.race([closeSession(), delay(farewell_ms, undefined, { signal: timer.signal })]);
    timer.abort();
    channel?.end(reason);
  };
  /** Leaves the connection within `farewell_ms`, even while a request is pending. Never rejects. */
  const leave = (reason: LinkError): Promise<void> => {
    ended ??= reason;
    return (left ??= leaveOnce(ended));
  };
  const throwIfEnded = (): void => {
    if (ended !== null) throw ended;
  };
  const open = async (): Promise<Session> => {
    const opcua = await opcuaLibrary();
    throwIfEnded();
    const newChannel: Connecting["newChannel"] = (secured) => {
      throwIfEnded();
      const { endpoint } = address;
      return (channel = secureChannel(opcua, { ...secured, endpoint, connect_ms, answer_ms, keys_ms }));
    };
    const connecting = { ...options, opcua, now: options.wall(), newChannel };
    session = await withPasswords(address, options.passwords, (password) => connectSession(connecting, password));
    throwIfEnded();
    return session;
  };
  return {
    /** Opens the connection. Rejects with a LinkError. If the signal aborts, the connection ends. */
    open: (signal: AbortSignal): Promise<Session> => {
      forget = onAbort(signal, () => void leave(abortedBy(signal)));
      return (opening = open());
    },
    leave,
    ended: () => ended,
    throwIfEnded,
  };
}

/**
 * Connects with each password in turn until the server accepts one. Connects with null if the password is in a file or not needed. Throws
 * the error of the last attempt.
 */
async function withPasswords<T>(
  { user, password_file }: OpcuaAddress,
  known: PlcPasswords | undefined,
  connect: (password: string | null) => Promise<T>,
): Promise<T> {
  if (user === undefined || password_file !== undefined) return connect(null);
  let refusal = new LinkError("config", message("plc.opcua.no_password"));
  for (const password of known?.() ?? []) {
    try {
      return await connect(password);
    } catch (error) {
      if (!isLoginRefused(error)) throw error;
      refusal = error;
    }
  }
  throw refusal;
}

/**
 * Requests the server's endpoints over an unsecured channel, checks the server's certificate, and only then makes the secure channel and
 * the session. Rejects with a LinkError. No secret is sent before the server is known to be the pinned one.
 */
async function connectSession(connecting: Connecting, password: string | null): Promise<Session> {
  const { opcua, address, pki, now, idle_ms, newChannel } = connecting;
  const { endpoint, security_policy: policy } = address;
  if (policy === "None") {
    if (!address.allow_insecure) throw new LinkError("config", message("plc.opcua.needs_allow"));
    const channel = newChannel({ policy });
    await channel.open();
    return openSession(opcua, channel, { address, identity: null, serverCertificate: null, idle_ms, password });
  }
  const offers = await discover(opcua, endpoint, newChannel({ policy: "None" }));
  const server = judgeServer(offers, address, now);
  pki.noteServer(endpoint, fingerprintOf(server.raw), server.validToDate.getTime());
  const identity = await pki.own();
  const channel = newChannel({ policy, certificate: server.raw, keys: identity.keys });
  await channel.open().catch((error: unknown) => {
    throw refusedByServer(error, identity.fingerprint);
  });
  return openSession(opcua, channel, { address, identity, serverCertificate: server.raw, idle_ms, password });
}

async function discover(opcua: Opcua, endpoint: string, channel: Channel): Promise<readonly Offer[]> {
  await channel.open();
  const request = new opcua.GetEndpointsRequest({ endpointUrl: endpoint, localeIds: [], profileUris: [] });
  const { endpoints } = await channel.ask(request, opcua.GetEndpointsResponse);
  channel.end(new LinkError("closed", message("plc.opcua.discovered")));
  return (endpoints ?? []).flatMap(({ securityMode, securityPolicyUri, serverCertificate }) => {
    const policy = (securityPolicyUri ?? "").split("#")[1] ?? "None";
    const { None, SignAndEncrypt } = opcua.MessageSecurityMode;
    const usable = securityMode === SignAndEncrypt || (securityMode === None && policy === "None");
    return usable ? [{ policy, certificate: serverCertificate }] : [];
  });
}

const OFFER_TIMES = { connect_ms: 5_000, answer_ms: 5_000, keys_ms: undefined } as const;

/** Returns the endpoints of a server without trusting the server. Rejects with a LinkError. */
export async function opcuaOffers(endpoint: string, signal: AbortSignal): Promise<readonly OpcuaOffer[]> {
  if (!URL.canParse(endpoint) || new URL(endpoint).protocol !== "opc.tcp:" || new URL(endpoint).hostname === "") {
    throw new LinkError("config", message("plc.opcua.endpoint"));
  }
  const opcua = await opcuaLibrary();
  const channel = secureChannel(opcua, { endpoint, policy: "None", ...OFFER_TIMES });
  const forget = onAbort(signal, () => channel.end(abortedBy(signal)));
  const offers = await discover(opcua, endpoint, channel).finally(forget);
  return offers.map(({ policy, certificate }) => {
    const read = readCertificate(certificate);
    if (read === null) return { policy, fingerprint: null, name: "" };
    return { policy, fingerprint: fingerprintOf(read.raw), name: nameOf(read) };
  });
}

/**
 * Returns the error of a refused channel with a hint about trust. A server that doesn't trust a client often just closes the connection.
 */
function refusedByServer(error: unknown, fingerprint: string): unknown {
  if (!(error instanceof LinkError) || !["closed", "reset", "config"].includes(error.kind)) return error;
  return new LinkError("config", message("plc.opcua.not_trusted", { error: error.text, fingerprint }), error);
}

/** An endpoint of a server, with the fields that decide about trust. */
interface Offer {
  /** Name of the security policy. Only the modes SignAndEncrypt and None are listed. */
  readonly policy: string;
  readonly certificate: Buffer | null;
}

const MIN_RSA_BITS = 2048;

/**
 * Returns the server's certificate if a technician has pinned it; otherwise throws a LinkError. It runs before any secret is sent. A server
 * that shows the pinned certificate without owning its key can't read the channel. A certificate that is not valid yet is accepted: the pin
 * proves more than the date, and this gateway's clock may be at 1970.
 */
function judgeServer(offers: readonly Offer[], address: OpcuaAddress, now: EpochMs): X509Certificate {
  const { server_certificate_file: file } = address;
  const pinned = file === undefined ? null : readCertificateFile(file);
  const fingerprint = pinned === null ? address.server_certificate_fingerprint : fingerprintOf(pinned.raw);
  const offer = offers.find(({ policy }) => policy === address.security_policy);
  if (offer === undefined) throw notOffered(offers, address.security_policy);
  const certificate = readCertificate(offer.certificate);
  if (certificate === null) throw new LinkError("config", message("plc.opcua.unreadable_certificate"));
  const actual = fingerprintOf(certificate.raw);
  if (fingerprint === undefined) throw unknown(actual, certificate);
  if (fingerprint !== actual) {
    // Trusts a changed certificate only if the file contains the certificate of an authority that has signed it directly.
    if (pinned?.ca !== true) throw changed(actual, fingerprint, file);
    checkSigned(certificate, pinned, { address, now });
  }
  if (certificate.validToDate.getTime() <= now) {
    const since = dayOf(certificate.validToDate);
    throw new LinkError("config", message("plc.opcua.expired", { since }));
  }
  const bits = rsaBits(certificate);
  if (bits >= MIN_RSA_BITS) return certificate;
  throw new LinkError("config", message("plc.opcua.short_key", { bits, least: MIN_RSA_BITS }));
}

/**
 * Throws a LinkError unless the authority signed the certificate for this host. The host is checked because an authority signs the
 * certificates of many devices.
 */
function checkSigned(
  certificate: X509Certificate,
  authority: X509Certificate,
  { address, now }: { readonly address: OpcuaAddress; readonly now: EpochMs },
): void {
  const { validToDate } = authority;
  const name = nameOf(authority);
  if (!certificate.checkIssued(authority) || !certificate.verify(authority.publicKey)) {
    throw new LinkError("config", message("plc.opcua.not_signed", { name }));
  }
  if (validToDate.getTime() <= now) {
    throw new LinkError("config", message("plc.opcua.authority_expired", { name, since: dayOf(validToDate) }));
  }
  const host = hostIn(address.endpoint);
  if (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) return;
  const names = certificate.subjectAltName?.slice(0, 200) ?? message("plc.opcua.no_name");
  throw new LinkError("config", message("plc.opcua.other_host", { name, names, host }));
}

function nameOf({ subject }: X509Certificate): string {
  return subject.replace(/\s+/g, " ").slice(0, 100);
}

function dayOf(date: Date): string {
  return date.toISOString().slice(0, 10);
}

function readCertificate(bytes: Buffer | null): X509Certificate | null {
  if (bytes === null || bytes.length === 0) return null;
  try {
    return parseCertificate(bytes);
  } catch {
    return null; // the bytes are no certificate
  }
}

function notOffered(offers: readonly Offer[], policy: OpcuaPolicy): LinkError {
  const offered = [...new Set(offers.map((offer) => offer.policy))];
  const none = offered.every((name) => name === "None");
  const values = { policy, offered: offered.length === 0 ? message("plc.opcua.nothing_signed") : offered };
  const text = none ? message("plc.opcua.not_offered_none", values) : message("plc.opcua.not_offered", values);
  return new LinkError("config", text);
}

function unknown(actual: string, certificate: X509Certificate): LinkError {
  const values = { name: nameOf(certificate), shown: shownFingerprint(actual), fingerprint: actual };
  return new LinkError("config", message("plc.opcua.unknown_certificate", values));
}

function changed(actual: string, fingerprint: string, file: string | undefined): LinkError {
  const values = { shown: shownFingerprint(actual), pinned: shownFingerprint(fingerprint) };
  const text =
    file === undefined
      ? message("plc.opcua.changed", { ...values, fingerprint: actual })
      : message("plc.opcua.changed_file", { ...values, file });
  return new LinkError("config", text);
}
