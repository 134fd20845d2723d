import { createHash, X509Certificate } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crypto_utils, OPCUACertificateManager } from "node-opcua";

/** A server's certificate and where it keeps what it trusts, in a folder that goes with it. */
export interface ServerPki {
  readonly dir: string;
  /** Programs that may connect. */
  readonly manager: OPCUACertificateManager;
  /** People who may log in by certificate. */
  readonly users: OPCUACertificateManager;
  readonly certificateFile: string;
  readonly privateKeyFile: string;
  /** SHA-256 of the certificate, lower-case hex. */
  readonly fingerprint: string;
  dispose(): Promise<void>;
}

export interface PkiWishes {
  /** Whether clients that nobody has trusted before may come in. */
  readonly trust_clients: boolean;
  /** Whether users whose certificate nobody has trusted before may log in with it. */
  readonly trust_users: boolean;
  /** Days from now until the certificate ends; below 0: it is over. */
  readonly certificate_days: number;
  readonly uri: string;
}

const DAY_MS = 86_400_000;
/** A certificate that is already over had to begin before. */
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
  const { cert } = await crypto_utils.createSelfSignedCertificate({
    privateKey: key as never,
    subject: "CN=Booth PLC",
    applicationUri: wishes.uri,
    dns: ["localhost"],
    ip: ["127.0.0.1"],
    notBefore: new Date(Date.now() - BEGAN_DAYS_BEFORE * DAY_MS),
    validity: BEGAN_DAYS_BEFORE + wishes.certificate_days,
    purpose: crypto_utils.CertificatePurpose.ForApplication,
  });
  const certificateFile = join(dir, "server.pem");
  const privateKeyFile = join(dir, "server.key");
  mkdirSync(dir, { recursive: true });
  writeFileSync(certificateFile, cert);
  writeFileSync(privateKeyFile, privPem, { mode: 0o600 });
  const fingerprint = createHash("sha256").update(new X509Certificate(cert).raw).digest("hex");
  return {
    dir,
    manager,
    users,
    certificateFile,
    privateKeyFile,
    fingerprint,
    dispose: async () => {
      await Promise.all([manager.dispose(), users.dispose()]);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
