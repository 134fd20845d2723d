import { createPublicKey } from "node:crypto";

import { LinkError } from "../../domain/link-error.ts";
import type { OpcuaAddress } from "../../config/port.ts";
import { parseCertificate } from "./certificate.ts";
import type { PlcPasswords } from "../port.ts";
import { readCertificateFile, readKeyOf, readSecret } from "./files.ts";
import type { Opcua } from "./library.ts";
import { isLoginRefused } from "./status.ts";

type UserPolicy = InstanceType<Opcua["UserTokenPolicy"]>;
type Policy = Opcua["SecurityPolicy"][keyof Opcua["SecurityPolicy"]];

/** What the session was told by the server, over the secure channel. */
export interface LoginContext {
  readonly policies: readonly UserPolicy[];
  readonly channelPolicy: Policy;
  /** The pinned one, DER; null with policy None. */
  readonly serverCertificate: Buffer | null;
  readonly serverNonce: Buffer;
  /** Of the user; null: in the file that the configuration names. */
  readonly password: string | null;
}

export type Login = Pick<
  NonNullable<ConstructorParameters<Opcua["ActivateSessionRequest"]>[0]>,
  "userIdentityToken" | "userTokenSignature"
>;

/** Makes the token that the configuration asks for. Throws a LinkError that says what to mend; never holds a secret in it. */
export async function loginOf(opcua: Opcua, address: OpcuaAddress, context: LoginContext): Promise<Login> {
  if (address.user !== undefined) return byName(opcua, { ...address, user: address.user }, context);
  if (address.user_certificate_file !== undefined) return byCertificate(opcua, address, context);
  const policy = policyOf(opcua, context, opcua.UserTokenType.Anonymous);
  if (policy === null)
    throw new LinkError("config", "the server wants a login: set opcua.user and opcua.password_file");
  return { userIdentityToken: new opcua.AnonymousIdentityToken({ policyId: policy.id }) };
}

/**
 * Connects with each password in turn until the server takes one; with null where a file holds it, or none is asked for. The
 * order is the caller's. Throws what the last try threw.
 */
export async function withPasswords<T>(
  { user, password_file }: OpcuaAddress,
  known: PlcPasswords | undefined,
  connect: (password: string | null) => Promise<T>,
): Promise<T> {
  if (user === undefined || password_file !== undefined) return connect(null);
  const [first, ...others] = known?.() ?? [];
  if (first === undefined) {
    const advice = "enter the booth's serial number, or set opcua.password_file";
    throw new LinkError("config", `the service's record holds no password of this PLC yet: ${advice}`);
  }
  let trying = connect(first);
  for (const password of others) {
    trying = trying.catch((error: unknown) => {
      if (!isLoginRefused(error)) throw error;
      return connect(password);
    });
  }
  return trying;
}

function byName(opcua: Opcua, address: OpcuaAddress & { readonly user: string }, context: LoginContext): Login {
  const { serverCertificate, channelPolicy, serverNonce } = context;
  if (serverCertificate === null || channelPolicy === opcua.SecurityPolicy.None) {
    throw new LinkError("config", "with security_policy None no password may be sent");
  }
  const policy = policyOf(opcua, context, opcua.UserTokenType.UserName);
  if (policy === null) throw new LinkError("config", "the server offers no login by user and password");
  const password = Buffer.from(context.password ?? readSecret(address.password_file ?? ""), "utf8");
  const factory = opcua.getCryptoFactory(policy.security);
  // Without a policy of its own the token is protected by the channel, which is encrypted.
  const encrypted = factory === null ? null : factory.asymmetricEncryptionAlgorithm;
  const length = Buffer.alloc(4);
  length.writeUInt32LE(password.length + serverNonce.length);
  const block = Buffer.concat([length, password, serverNonce]);
  const key = createPublicKey(parseCertificate(serverCertificate).publicKey.export({ type: "spki", format: "pem" }));
  return {
    userIdentityToken: new opcua.UserNameIdentityToken({
      policyId: policy.id,
      userName: address.user,
      encryptionAlgorithm: encrypted,
      password: factory === null ? password : factory.asymmetricEncrypt(block, key),
    }),
  };
}

async function byCertificate(opcua: Opcua, address: OpcuaAddress, context: LoginContext): Promise<Login> {
  const policy = policyOf(opcua, context, opcua.UserTokenType.Certificate);
  if (policy === null) throw new LinkError("config", "the server offers no login by certificate");
  const file = address.user_certificate_file ?? "";
  const certificate = readCertificateFile(file);
  const keyPem = readKeyOf(certificate, { file, key_file: address.user_key_file ?? "" });
  const key = opcua.crypto_utils.makePrivateKeyFromPem(keyPem);
  const { serverCertificate, serverNonce, channelPolicy } = context;
  const security = policy.security === opcua.SecurityPolicy.None ? channelPolicy : policy.security;
  const signature = await opcua.computeSignatureAsync(serverCertificate, serverNonce, key, security);
  if (signature === undefined) {
    throw new LinkError("config", "a login by certificate needs a security_policy other than None");
  }
  return {
    userIdentityToken: new opcua.X509IdentityToken({ policyId: policy.id, certificateData: certificate.raw }),
    userTokenSignature: signature,
  };
}

/** The strongest policy offered for a kind of login; `security` None: no encryption of its own. Old algorithms don't count. */
function policyOf(
  opcua: Opcua,
  { policies, channelPolicy }: LoginContext,
  type: UserPolicy["tokenType"],
): { readonly id: string | null; readonly security: Policy } | null {
  const { SecurityPolicy } = opcua;
  const { Basic256Sha256, Aes128_Sha256_RsaOaep, Aes256_Sha256_RsaPss, None } = SecurityPolicy;
  const known: readonly Policy[] = [Aes256_Sha256_RsaPss, Basic256Sha256, Aes128_Sha256_RsaOaep, None];
  const usable = policies
    .filter(({ tokenType }) => tokenType === type)
    .map(({ policyId, securityPolicyUri }) => ({
      id: policyId ?? null,
      security: known.find((uri: string) => uri === securityPolicyUri) ?? (securityPolicyUri ? null : channelPolicy),
    }))
    .flatMap(({ id, security }) => (security === null ? [] : [{ id, security }]));
  return usable.toSorted((a, b) => known.indexOf(a.security) - known.indexOf(b.security))[0] ?? null;
}
