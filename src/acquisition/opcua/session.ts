import { message } from "../../domain/message.ts";
import { createPublicKey, randomBytes } from "node:crypto";
import { LinkError } from "../../domain/link-error.ts";
import type { OpcuaAddress } from "../../config/port.ts";
import type { Milliseconds } from "../../domain/units.ts";
import { type Answer, type Asking, type Channel, RefusedService } from "./channel.ts";
import type { Opcua, Request } from "./library.ts";
import { type OwnIdentity, parseCertificate, readCertificateFile, readKeyOf, readSecret } from "./pki.ts";

interface SessionOptions {
  readonly address: OpcuaAddress;
  /** The gateway's certificate and key; null with policy None. */
  readonly identity: OwnIdentity | null;
  /** The server's pinned certificate, DER; null with policy None. */
  readonly serverCertificate: Buffer | null;
  /** Time for which the server keeps a session without requests. */
  readonly idle_ms: Milliseconds;
  /** The user's password; null: the password is in a file, or the login needs no password. */
  readonly password: string | null;
}

/** A session. Every rejected request ends it, except a tolerated refusal. */
export type Session = Awaited<ReturnType<typeof openSession>>;

type CreateSessionAnswer = InstanceType<Opcua["CreateSessionResponse"]>;

const NONCE_BYTES = 32;

/** Longest wait for the answer to CloseSession. A working server confirms at once, and the agent has only seconds to stop. */
export const FAREWELL_MS: Milliseconds = 500;

/**
 * Creates and activates a session. Sends the login only after the server has proved that it owns the pinned certificate. Closes a session
 * that can't be activated, because servers allow few sessions and each retry would leave one open.
 */
export async function openSession(opcua: Opcua, channel: Channel, options: SessionOptions) {
  const { address } = options;
  const nonce = randomBytes(NONCE_BYTES);
  const created = await channel.ask(createRequest(opcua, options, nonce), opcua.CreateSessionResponse);
  const ask = <R>(request: Request, answer: Answer<R>, asking?: Asking): Promise<R> => {
    request.requestHeader.authenticationToken = created.authenticationToken;
    return channel.ask(request, answer, asking);
  };
  /** Closes the session, so that the server frees it at once and not at its timeout. Never rejects. */
  const close = async (within_ms: Milliseconds = FAREWELL_MS): Promise<void> => {
    const request = new opcua.CloseSessionRequest({ deleteSubscriptions: true });
    const asking: Asking = { slot: "farewell", within_ms, survives: true, tolerant: true };
    // Ignores an error: if the server is gone, its own timeout ends the session.
    await ask(request, opcua.CloseSessionResponse, asking).catch(() => undefined);
  };
  try {
    checkServer(opcua, created, { ...options, nonce });
    const login = await loginOf(opcua, {
      ...options,
      policies: userPolicies(opcua, created, address),
      channelPolicy: opcua.SecurityPolicy[address.security_policy],
      serverNonce: created.serverNonce,
    });
    const request = new opcua.ActivateSessionRequest({
      ...(await signatureOf(opcua, options, created.serverNonce)),
      clientSoftwareCertificates: [],
      localeIds: [],
      ...login,
    });
    await ask(request, opcua.ActivateSessionResponse, { tolerant: true });
  } catch (error) {
    const why = error instanceof RefusedService ? error.cause : error;
    const ours = why instanceof LinkError ? why : new LinkError("malformed", message("plc.opcua.no_session"), why);
    await close();
    channel.end(ours);
    throw ours;
  }
  return { ask, close };
}

/** Signs the server's nonce, which proves that the gateway owns its certificate. */
async function signatureOf(
  opcua: Opcua,
  { address, identity, serverCertificate }: SessionOptions,
  serverNonce: Buffer,
) {
  if (identity === null) return {};
  const policy = opcua.SecurityPolicy[address.security_policy];
  const key = identity.keys.getPrivateKey();
  const clientSignature = await opcua.computeSignatureAsync(serverCertificate, serverNonce, key, policy);
  return clientSignature === undefined ? {} : { clientSignature };
}

function createRequest(opcua: Opcua, { address, identity, idle_ms }: SessionOptions, nonce: Buffer): Request {
  return new opcua.CreateSessionRequest({
    clientDescription: {
      applicationUri: identity?.uri ?? "urn:booth-gateway",
      productUri: "urn:booth-gateway",
      applicationName: { text: "booth-gateway" },
      applicationType: opcua.ApplicationType.Client,
    },
    endpointUrl: address.endpoint,
    sessionName: "booth-gateway",
    clientNonce: nonce,
    ...(identity === null ? {} : { clientCertificate: identity.keys.getCertificate() }),
    requestedSessionTimeout: idle_ms,
    maxResponseMessageSize: 0,
  });
}

function checkServer(
  opcua: Opcua,
  created: CreateSessionAnswer,
  { address, identity, serverCertificate, nonce }: SessionOptions & { readonly nonce: Buffer },
): void {
  if (serverCertificate === null || identity === null) return;
  const same = parseCertificate(created.serverCertificate).raw.equals(serverCertificate);
  const policy = opcua.SecurityPolicy[address.security_policy];
  const signature = created.serverSignature;
  const proved = opcua.verifySignature(identity.keys.getCertificate(), nonce, signature, serverCertificate, policy);
  if (!same || !proved) throw new LinkError("malformed", message("plc.opcua.unproved"));
  if (created.serverNonce.length < NONCE_BYTES) throw new LinkError("malformed", message("plc.opcua.short_nonce"));
}

/** Returns the login policies of the configured endpoint, as received over the secure channel. */
function userPolicies(opcua: Opcua, { serverEndpoints }: CreateSessionAnswer, { security_policy }: OpcuaAddress) {
  const { None, SignAndEncrypt } = opcua.MessageSecurityMode;
  const mode = security_policy === "None" ? None : SignAndEncrypt;
  const uri: string = opcua.SecurityPolicy[security_policy];
  return (serverEndpoints ?? [])
    .filter((one) => one.securityMode === mode && one.securityPolicyUri === uri)
    .flatMap(({ userIdentityTokens }) => userIdentityTokens ?? []);
}

type UserPolicy = NonNullable<
  NonNullable<CreateSessionAnswer["serverEndpoints"]>[number]["userIdentityTokens"]
>[number];
type Policy = Opcua["SecurityPolicy"][keyof Opcua["SecurityPolicy"]];

/** Data for the login, including data that the server has sent over the secure channel. */
interface LoginContext extends SessionOptions {
  readonly policies: readonly UserPolicy[];
  readonly channelPolicy: Policy;
  readonly serverNonce: Buffer;
}

type Login = Pick<
  NonNullable<ConstructorParameters<Opcua["ActivateSessionRequest"]>[0]>,
  "userIdentityToken" | "userTokenSignature"
>;

/** Makes the identity token of the configured login. Throws a LinkError that says what to correct, without any secret. */
async function loginOf(opcua: Opcua, context: LoginContext): Promise<Login> {
  const { user, user_certificate_file } = context.address;
  if (user !== undefined) return byName(opcua, user, context);
  if (user_certificate_file !== undefined) return byCertificate(opcua, user_certificate_file, context);
  const policy = policyOf(opcua, context, opcua.UserTokenType.Anonymous);
  if (policy === null) throw new LinkError("config", message("plc.opcua.wants_login"));
  return { userIdentityToken: new opcua.AnonymousIdentityToken({ policyId: policy.id }) };
}

function byName(opcua: Opcua, userName: string, context: LoginContext): Login {
  const { serverCertificate, channelPolicy, serverNonce } = context;
  if (serverCertificate === null || channelPolicy === opcua.SecurityPolicy.None) {
    throw new LinkError("config", message("plc.opcua.plain_password"));
  }
  const policy = policyOf(opcua, context, opcua.UserTokenType.UserName);
  if (policy === null) throw new LinkError("config", message("plc.opcua.no_password_login"));
  const password = Buffer.from(context.password ?? readSecret(context.address.password_file ?? ""), "utf8");
  const factory = opcua.getCryptoFactory(policy.security);
  // Encrypts the password only if its token has a security policy. Otherwise the encrypted channel protects it.
  const encrypted = factory === null ? null : factory.asymmetricEncryptionAlgorithm;
  const length = Buffer.alloc(4);
  length.writeUInt32LE(password.length + serverNonce.length);
  const block = Buffer.concat([length, password, serverNonce]);
  const key = createPublicKey(parseCertificate(serverCertificate).publicKey.export({ type: "spki", format: "pem" }));
  return {
    userIdentityToken: new opcua.UserNameIdentityToken({
      policyId: policy.id,
      userName,
      encryptionAlgorithm: encrypted,
      password: factory === null ? password : factory.asymmetricEncrypt(block, key),
    }),
  };
}

async function byCertificate(opcua: Opcua, file: string, context: LoginContext): Promise<Login> {
  const policy = policyOf(opcua, context, opcua.UserTokenType.Certificate);
  if (policy === null) throw new LinkError("config", message("plc.opcua.no_certificate_login"));
  const certificate = readCertificateFile(file);
  const keyPem = readKeyOf(certificate, { file, key_file: context.address.user_key_file ?? "" });
  const key = { hidden: keyPem };
  const { serverCertificate, serverNonce, channelPolicy } = context;
  const security = policy.security === opcua.SecurityPolicy.None ? channelPolicy : policy.security;
  const signature = await opcua.computeSignatureAsync(serverCertificate, serverNonce, key, security);
  if (signature === undefined) {
    throw new LinkError("config", message("plc.opcua.plain_certificate"));
  }
  return {
    userIdentityToken: new opcua.X509IdentityToken({ policyId: policy.id, certificateData: certificate.raw }),
    userTokenSignature: signature,
  };
}

/**
 * Returns the strongest login policy for a type of login, without outdated algorithms; null if the server offers none. Its `security` is
 * None if the channel alone encrypts the login.
 */
function policyOf(opcua: Opcua, { policies, channelPolicy }: LoginContext, type: UserPolicy["tokenType"]) {
  const { SecurityPolicy } = opcua;
  const { Basic256Sha256, Aes128_Sha256_RsaOaep, Aes256_Sha256_RsaPss, None } = SecurityPolicy;
  const known: readonly Policy[] = [Aes256_Sha256_RsaPss, Basic256Sha256, Aes128_Sha256_RsaOaep, None];
  const usable = policies
    .filter(({ tokenType }) => tokenType === type)
    .flatMap(({ policyId, securityPolicyUri: given }) => {
      const security = given ? known.find((uri: string) => uri === given) : channelPolicy;
      return security === undefined ? [] : [{ id: policyId ?? null, security }];
    });
  return usable.toSorted((a, b) => known.indexOf(a.security) - known.indexOf(b.security))[0] ?? null;
}
