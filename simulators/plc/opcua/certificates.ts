import { createHash, X509Certificate } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crypto_utils, OPCUACertificateManager } from "node-opcua";
import { DAY_MS } from "../../../src/domain/time.ts";

/** A server's certificate and its trust lists, in a temporary folder. */
export interface ServerPki {
  readonly dir: string;
  /** Trust list for programs. */
  readonly manager: OPCUACertificateManager;
  /** Trust list for users who log in by certificate. */
  readonly users: OPCUACertificateManager;
  readonly certificateFile: string;
  readonly privateKeyFile: string;
  /** The certificate of the authority that signed it; for a self-signed one, the certificate itself. */
  readonly authorityFile: string;
  /** SHA-256 of the certificate, lower-case hex. */
  readonly fingerprint: string;
  dispose(): Promise<void>;
}

interface PkiWishes {
  /** Whether unknown client certificates are accepted. */
  readonly trust_clients: boolean;
  /** Whether unknown user certificates are accepted for a login. */
  readonly trust_users: boolean;
  /** Days from now until the certificate expires; below 0: it has expired. */
  readonly certificate_days: number;
  readonly uri: string;
  /** Signed by its own authority instead of self-signed. */
  readonly ca_signed: boolean;
  /** Host names in the certificate. */
  readonly dns: readonly string[];
  readonly ip: readonly string[];
}
/** Start of validity, early enough for a certificate that has already expired. */
const BEGAN_DAYS_BEFORE = 400;

export async function makeServerPki(wishes: PkiWishes): Promise<ServerPki> {
  const dir = mkdtempSync(join(tmpdir(), "booth-plc-"));
  const manager = new OPCUACertificateManager({
    rootFolder: join(dir, "pki"),
    automaticallyAcceptUnknownCertificate: wishes.trust_clients,
  });
  const users = new OPCUACertificateManager({
    rootFolder: join(dir, "users"),
    automaticallyAcceptUnknownCertificate: wishes.trust_users,
  });
  await Promise.all([manager.initialize(), users.initialize()]);
  const key: unknown = await crypto_utils.generatePrivateKey(2048);
  const { privPem } = await crypto_utils.privateKeyToPEM(key);
  const names = { applicationUri: wishes.uri, dns: [...wishes.dns], ip: [...wishes.ip] };
  const validity = BEGAN_DAYS_BEFORE + wishes.certificate_days;
  const rules = { ...names, validity, notBefore: new Date(Date.now() - BEGAN_DAYS_BEFORE * DAY_MS) };
  const { cert, authority } = wishes.ca_signed ? await signed(key, rules) : await selfSigned(key, rules);
  const certificateFile = join(dir, "server.pem");
  const privateKeyFile = join(dir, "server.key");
  mkdirSync(dir, { recursive: true });
  const authorityFile = join(dir, "authority.pem");
  writeFileSync(certificateFile, cert);
  writeFileSync(authorityFile, authority);
  writeFileSync(privateKeyFile, privPem, { mode: 0o600 });
  const fingerprint = createHash("sha256").update(new X509Certificate(cert).raw).digest("hex");
  return {
    dir,
    manager,
    users,
    certificateFile,
    privateKeyFile,
    authorityFile,
    fingerprint,
    dispose: async () => {
      await Promise.all([manager.dispose(), users.dispose()]);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

interface Rules {
  readonly applicationUri: string;
  readonly dns: string[];
  readonly ip: string[];
  readonly notBefore: Date;
  readonly validity: number;
}

interface Made {
  readonly cert: string;
  readonly authority: string;
}

const SUBJECT = "CN=Booth PLC";
const { ForApplication, ForCertificateAuthority } = crypto_utils.CertificatePurpose;

async function selfSigned(key: unknown, rules: Rules): Promise<Made> {
  const made = { privateKey: key as never, subject: SUBJECT, purpose: ForApplication, ...rules };
  const { cert } = await crypto_utils.createSelfSignedCertificate(made);
  return { cert, authority: cert };
}

async function signed(key: unknown, rules: Rules): Promise<Made> {
  const authorityKey: unknown = await crypto_utils.generatePrivateKey(2048);
  const { notBefore, validity } = rules;
  const { cert: authority } = await crypto_utils.createSelfSignedCertificate({
    privateKey: authorityKey as never,
    subject: "CN=Plant authority",
    notBefore,
    validity: validity + 1,
    purpose: ForCertificateAuthority,
  });
  const request = { privateKey: key as never, subject: SUBJECT, purpose: ForApplication, ...rules };
  const { csr } = await crypto_utils.createCertificateSigningRequest(request);
  const { publicKey, subjectName } = new crypto_utils.x509.X509Certificate(authority);
  const { cert } = await crypto_utils.createCertificateFromCsr({
    csr,
    issuerName: subjectName,
    issuerPublicKey: publicKey,
    signingKey: authorityKey as never,
    signingAlgorithm: { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" } as never,
    purpose: ForApplication,
    ...rules,
  });
  return { cert, authority };
}
