import { createHash, randomBytes } from "node:crypto";

import { LinkError } from "../../domain/link-error.ts";
import type { OpcuaAddress } from "../../config/port.ts";
import type { Milliseconds } from "../../domain/units.ts";
import type { Asking, Channel } from "./channel.ts";
import { parseCertificate } from "./certificate.ts";
import type { Opcua, Request } from "./library.ts";
import { loginOf } from "./login.ts";
import type { OwnIdentity } from "./pki.ts";

/** Requests of one session, as the channel takes them; everything that rejects has ended it, but for a tolerated refusal. */
export interface Session {
  ask<R>(request: Request, answer: abstract new (...args: never[]) => R, asking?: Asking): Promise<R>;
  /** Lets the server forget the session at once instead of at its time-out. */
  close(): Promise<void>;
}

export interface SessionOptions {
  readonly address: OpcuaAddress;
  /** null with policy None. */
  readonly own: OwnIdentity | null;
  /** The pinned one, DER; null with policy None. */
  readonly serverCertificate: Buffer | null;
  /** How long the server keeps a session that asks nothing. */
  readonly idle_ms: Milliseconds;
  /** As `Connecting` has it. */
  readonly password: string | null;
}

type CreateSessionAnswer = InstanceType<Opcua["CreateSessionResponse"]>;

const NONCE_BYTES = 32;

/** Creates and activates a session. Before the login goes out the server has proved that it owns the pinned certificate. */
export async function openSession(opcua: Opcua, channel: Channel, options: SessionOptions): Promise<Session> {
  const { address, serverCertificate } = options;
  const nonce = randomBytes(NONCE_BYTES);
  const created = await channel.ask(createRequest(opcua, options, nonce), opcua.CreateSessionResponse);
  try {
    checkServer(opcua, created, { ...options, nonce });
    const login = await loginOf(opcua, address, {
      policies: userPolicies(opcua, created, address),
      channelPolicy: opcua.SecurityPolicy[address.security_policy],
      serverCertificate,
      serverNonce: created.serverNonce,
      password: options.password,
    });
    const request = new opcua.ActivateSessionRequest({
      ...(await signatureOf(opcua, options, created.serverNonce)),
      clientSoftwareCertificates: [],
      localeIds: [],
      ...login,
    });
    request.requestHeader.authenticationToken = created.authenticationToken;
    await channel.ask(request, opcua.ActivateSessionResponse);
  } catch (error) {
    const ours = error instanceof LinkError ? error : new LinkError("malformed", "the session can't be made", error);
    channel.end(ours);
    throw ours;
  }
  const ask: Session["ask"] = (request, answer, asking) => {
    request.requestHeader.authenticationToken = created.authenticationToken;
    return channel.ask(request, answer, asking);
  };
  return {
    ask,
    close: async () => {
      await ask(new opcua.CloseSessionRequest({ deleteSubscriptions: true }), opcua.CloseSessionResponse);
    },
  };
}

/** Proves that we own our certificate. */
async function signatureOf(opcua: Opcua, { address, own, serverCertificate }: SessionOptions, serverNonce: Buffer) {
  if (own === null) return {};
  const policy = opcua.SecurityPolicy[address.security_policy];
  const key = own.keys.getPrivateKey();
  const clientSignature = await opcua.computeSignatureAsync(serverCertificate, serverNonce, key, policy);
  return clientSignature === undefined ? {} : { clientSignature };
}

function createRequest(opcua: Opcua, { address, own, idle_ms }: SessionOptions, nonce: Buffer): Request {
  return new opcua.CreateSessionRequest({
    clientDescription: {
      applicationUri: own?.uri ?? "urn:booth-gateway",
      productUri: "urn:booth-gateway",
      applicationName: { text: "booth-gateway" },
      applicationType: opcua.ApplicationType.Client,
    },
    endpointUrl: address.endpoint,
    sessionName: "booth-gateway",
    clientNonce: nonce,
    ...(own === null ? {} : { clientCertificate: own.keys.getCertificate() }),
    requestedSessionTimeout: idle_ms,
    maxResponseMessageSize: 0,
  });
}

function checkServer(
  opcua: Opcua,
  created: CreateSessionAnswer,
  { address, own, serverCertificate, nonce }: SessionOptions & { readonly nonce: Buffer },
): void {
  if (serverCertificate === null || own === null) return;
  const shown = parseCertificate(created.serverCertificate).raw;
  const same = digest(shown).equals(digest(serverCertificate));
  const policy = opcua.SecurityPolicy[address.security_policy];
  const signature = created.serverSignature;
  const proved = opcua.verifySignature(own.keys.getCertificate(), nonce, signature, serverCertificate, policy);
  if (!same || !proved) throw new LinkError("malformed", "the server can't prove that it owns its certificate");
  if (created.serverNonce.length < NONCE_BYTES) throw new LinkError("malformed", "the server's nonce is too short");
}

function digest(bytes: Buffer): Buffer {
  return createHash("sha256").update(bytes).digest();
}

/** The kinds of login of our endpoint, as told over the secure channel. */
function userPolicies(opcua: Opcua, { serverEndpoints }: CreateSessionAnswer, { security_policy }: OpcuaAddress) {
  const { None, SignAndEncrypt } = opcua.MessageSecurityMode;
  const mode = security_policy === "None" ? None : SignAndEncrypt;
  const uri: string = opcua.SecurityPolicy[security_policy];
  const own = (serverEndpoints ?? []).filter((one) => one.securityMode === mode && one.securityPolicyUri === uri);
  return own.flatMap(({ userIdentityTokens }) => userIdentityTokens ?? []);
}
