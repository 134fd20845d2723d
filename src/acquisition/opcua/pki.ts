import { message } from "../../domain/message.ts";
import { errorText } from "../../domain/messages/message-error.ts";
import { createHash, createPrivateKey, type X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";

import {
  FileError,
  ownFile,
  parseCertificate,
  passwordIn,
  readCertificate,
  readKeyOf as readKey,
} from "../../credential-files.ts";
import { LinkError } from "../../domain/link-error.ts";
import type { Logger } from "../../domain/machine.ts";
import type { KnownCertificate } from "../../domain/status.ts";
import { DAY_MS } from "../../domain/time.ts";
import type { EpochMs } from "../../domain/units.ts";
import type { KeyProvider } from "./library.ts";

export { parseCertificate } from "../../credential-files.ts";

/**
 * Time before expiry at which a warning is logged, a month before the renewal. The renewal changes the fingerprint, so the PLC must trust
 * the new certificate.
 */
const SAY_BEFORE_MS = 60 * DAY_MS;
const RENEW_BEFORE_MS = 30 * DAY_MS;
/**
 * Earliest start of a certificate's validity. A gateway without a clock starts in 1970, and a certificate made then would expire before its
 * use.
 */
const EARLIEST: EpochMs = Date.UTC(2026, 0, 1);

export type OpcuaPki = ReturnType<typeof opcuaPki>;

/**
 * Manages the folder with the gateway's OPC UA identity. All links share the folder, because the key must be made only once.
 * @param options dir: inside the gateway's state folder; created with mode 0700
 */
export function opcuaPki(options: { readonly dir: string; readonly wall: () => EpochMs; readonly log?: Logger }) {
  const logged = new Set<string>();
  /** Expiry of each configured server's certificate, by endpoint. */
  const servers = new Map<string, EpochMs>();
  const logOnce = (key: string, fields: Readonly<Record<string, unknown>>, text: string): void => {
    if (logged.has(key)) return;
    logged.add(key);
    options.log?.warn(fields, text);
  };
  const now = (): EpochMs => Math.max(options.wall(), EARLIEST);
  let last: Promise<unknown> = Promise.resolve();
  const load = async (): Promise<OwnIdentity> => {
    const found = readOwn(options.dir);
    const left = found === null ? 0 : found.certificate.validToDate.getTime() - now();
    if (found !== null && left > RENEW_BEFORE_MS) {
      const own = identityOf(found);
      const until = found.certificate.validToDate.toISOString().slice(0, 10);
      if (left < SAY_BEFORE_MS) {
        const text = `the gateway's OPC UA certificate ends on ${until} and is renewed 30 days before`;
        logOnce(own.fingerprint, { event: "opcua_certificate_expires", until }, text);
      }
      return own;
    }
    const own = identityOf(await makeOwn({ dir: options.dir, now: now() }));
    const event = found === null ? "opcua_certificate_made" : "opcua_certificate_renewed";
    const { fingerprint } = own;
    const text = `new OPC UA certificate of the gateway: let the PLC trust ${fingerprint}`;
    logOnce(fingerprint, { event, fingerprint }, text);
    return own;
  };
  return {
    /** Loads the gateway's identity. Makes it if it doesn't exist, and renews it before it expires. Rejects with a LinkError. */
    own: (): Promise<OwnIdentity> => {
      const next = last.then(load);
      last = next.catch(() => undefined); // this caller gets the error; the next one tries again
      return next.catch((cause: unknown) => {
        throw new LinkError("config", message("plc.opcua.own_certificate", { dir: options.dir }), cause);
      });
    },
    /** Returns the time at which the gateway's certificate expires; null: it doesn't exist yet. Doesn't load the library. */
    ownExpiry: (): EpochMs | null => readOwn(options.dir)?.certificate.validToDate.getTime() ?? null,
    /** Returns the gateway's certificate, if it exists, and those of the servers connected to so far. Doesn't load the library. */
    certificates: (): readonly KnownCertificate[] => {
      const own = readOwn(options.dir);
      const ours = own === null ? [] : [{ server: null, expires: own.certificate.validToDate.getTime() }];
      const theirs = [...servers].map(([server, expires]) => ({ server, expires }));
      return [...ours, ...theirs].map((known) => ({ link: "opcua", ...known }));
    },
    /** Remembers when a server's certificate expires. A month before, logs a warning, once per certificate. */
    noteServer: (endpoint: string, fingerprint: string, expires: EpochMs): void => {
      servers.set(endpoint, expires);
      if (expires - now() > RENEW_BEFORE_MS) return;
      const until = new Date(expires).toISOString().slice(0, 10);
      const text = `the certificate of the OPC UA server at ${endpoint} ends on ${until}: renew it and pin the new one`;
      logOnce(fingerprint, { event: "opcua_server_certificate_expires", endpoint, until }, text);
    },
  };
}

/** An order to make a certificate. A renewal keeps name and key. `now` is never before `EARLIEST`. */
export interface CertificateOrder {
  readonly dir: string;
  readonly now: EpochMs;
}

interface Own {
  readonly certificate: X509Certificate;
  readonly keyPem: string;
}

/** Reads the gateway's certificate and key. Returns null if they are missing or damaged; then new ones are made. */
export function readOwn(dir: string): Own | null {
  try {
    const certificate = parseCertificate(readFileSync(join(dir, "own.pem")));
    const keyPem = readFileSync(join(dir, "own.key"), "utf8");
    return certificate.checkPrivateKey(createPrivateKey(keyPem)) ? { certificate, keyPem } : null;
  } catch {
    return null; // missing, cut off by a power cut, or no certificate
  }
}

/** Makes certificate and key in a thread, whose memory is freed when it ends. The library is large, and needed only once in ten years. */
async function makeOwn(order: CertificateOrder): Promise<Own> {
  await new Promise<void>((resolve, reject) => {
    const worker = new Worker(new URL("./certificate-worker.ts", import.meta.url), { workerData: order });
    worker.once("error", reject);
    worker.once("exit", () => resolve());
  });
  const made = readOwn(order.dir);
  if (made === null) throw new Error("the certificate that was made can't be read");
  return made;
}

export function uriOf(certificate: X509Certificate): string | null {
  return /URI:([^,\s]+)/.exec(certificate.subjectAltName ?? "")?.[1] ?? null;
}

/** The gateway's own certificate and key. `fingerprint` is the SHA-256 in pairs of digits, which a technician trusts in the PLC. */
export type OwnIdentity = ReturnType<typeof identityOf>;

function identityOf({ certificate, keyPem }: Own) {
  const key = { hidden: keyPem };
  const keys: KeyProvider = {
    applicationName: "booth-gateway",
    clientName: "booth-gateway",
    getCertificate: () => certificate.raw,
    getCertificateChain: () => [certificate.raw],
    getPrivateKey: () => key,
  };
  const uri = uriOf(certificate) ?? "urn:booth-gateway";
  return { keys, uri, fingerprint: shownFingerprint(fingerprintOf(certificate.raw)) };
}

/** Returns the SHA-256 of a certificate in DER, 64 lower-case hex digits. */
export function fingerprintOf(der: Buffer): string {
  return createHash("sha256").update(der).digest("hex");
}

/** Formats a fingerprint in pairs of digits, as a PLC's display shows it. */
export function shownFingerprint(fingerprint: string): string {
  return (fingerprint.toUpperCase().match(/../g) ?? []).join(":");
}

/** Returns the number of bits of an RSA key; 0 for other keys, which no supported policy can use. */
export function rsaBits(certificate: X509Certificate): number {
  return certificate.publicKey.asymmetricKeyDetails?.modulusLength ?? 0;
}

/** Reads the first certificate of a file, PEM or DER. Throws a LinkError, whose text quotes nothing from the file. */
export function readCertificateFile(file: string): X509Certificate {
  return asLinkError(() => readCertificate(file));
}

/** Reads the private key of a certificate: PEM, in a file with mode 0600. Throws a LinkError. */
export function readKeyOf(certificate: X509Certificate, files: { file: string; key_file: string }): string {
  return asLinkError(() => {
    ownFile(files.key_file);
    return readKey(certificate, files);
  });
}

/** Reads the text of a file that only its owner may read, without the last line break. Throws a LinkError. */
export function readSecret(file: string): string {
  return asLinkError(() => passwordIn(ownFile(file)));
}

function asLinkError<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof FileError) throw new LinkError("config", errorText(cause), cause);
    throw cause;
  }
}
