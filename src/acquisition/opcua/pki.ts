import { createPrivateKey, type X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";

import type { KnownCertificate } from "../../domain/status.ts";
import { LinkError } from "../../domain/link-error.ts";
import type { EpochMs } from "../../domain/units.ts";
import type { Logger } from "../../domain/machine.ts";
import { fingerprintOf, parseCertificate, shownFingerprint } from "./certificate.ts";
import type { KeyProvider } from "./library.ts";
import { DAY_MS } from "../../domain/time.ts";

/** Renewing changes the fingerprint, so the PLC has to trust the new one: told a month before it is done. */
const SAY_BEFORE_MS = 60 * DAY_MS;
const RENEW_BEFORE_MS = 30 * DAY_MS;
/** A box without a clock thinks that it is 1970; a certificate made then would be over before it is used. */
const EARLIEST: EpochMs = Date.UTC(2026, 0, 1);

export type OpcuaPki = ReturnType<typeof opcuaPki>;

/**
 * The folder of the gateway's OPC UA identity. One for all links, so that the key is made once.
 * @param options dir: made where it is absent, mode 0700; inside the gateway's state folder
 */
export function opcuaPki(options: { readonly dir: string; readonly wall: () => EpochMs; readonly log?: Logger }) {
  const said = new Set<string>();
  /** As many as are configured: when the certificate of each ends. */
  const servers = new Map<string, EpochMs>();
  const sayOnce = (key: string, fields: Readonly<Record<string, unknown>>, text: string): void => {
    if (said.has(key)) return;
    said.add(key);
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
        sayOnce(own.fingerprint, { event: "opcua_certificate_expires", until }, text);
      }
      return own;
    }
    const own = identityOf(await makeOwn({ dir: options.dir, now: now() }));
    const event = found === null ? "opcua_certificate_made" : "opcua_certificate_renewed";
    const { fingerprint } = own;
    sayOnce(
      fingerprint,
      { event, fingerprint },
      `new OPC UA certificate of the gateway: let the PLC trust ${fingerprint}`,
    );
    return own;
  };
  return {
    /** Loads it, makes it where there is none, renews it before it expires. Rejects with a LinkError. */
    own: (): Promise<OwnIdentity> => {
      const next = last.then(load);
      last = next.catch(() => undefined); // whoever asked gets the error; the next one tries anew
      return next.catch((cause: unknown) => {
        throw new LinkError("config", `the gateway's OPC UA certificate can't be kept in ${options.dir}`, cause);
      });
    },
    /** When the certificate ends that is in use or would be; null: none has been made yet. Doesn't load the library. */
    ownExpiry: (): EpochMs | null => readOwn(options.dir)?.certificate.validToDate.getTime() ?? null,
    /** The own one, where there is one, and those of the servers that were connected to. Doesn't load the library. */
    certificates: (): readonly KnownCertificate[] => {
      const own = readOwn(options.dir);
      const ours = own === null ? [] : [{ server: null, expires: own.certificate.validToDate.getTime() }];
      const theirs = [...servers].map(([server, expires]) => ({ server, expires }));
      return [...ours, ...theirs].map((known) => ({ link: "opcua", ...known }));
    },
    /** Remembers when a server's certificate ends, and says once per certificate that it is about to. */
    noteServer: (endpoint: string, fingerprint: string, expires: EpochMs): void => {
      servers.set(endpoint, expires);
      if (expires - now() > RENEW_BEFORE_MS) return;
      const until = new Date(expires).toISOString().slice(0, 10);
      const text = `the certificate of the OPC UA server at ${endpoint} ends on ${until}: renew it and pin the new one`;
      sayOnce(fingerprint, { event: "opcua_server_certificate_expires", endpoint, until }, text);
    },
  };
}

/** What is to be made, or renewed with the same name and key. `now`: of a clock that has been set. */
export interface CertificateOrder {
  readonly dir: string;
  readonly now: EpochMs;
}

interface Own {
  readonly certificate: X509Certificate;
  readonly keyPem: string;
}

/** null: there is none, or it is broken; then a new one is made. */
export function readOwn(dir: string): Own | null {
  try {
    const certificate = parseCertificate(readFileSync(join(dir, "own.pem")));
    const keyPem = readFileSync(join(dir, "own.key"), "utf8");
    return certificate.checkPrivateKey(createPrivateKey(keyPem)) ? { certificate, keyPem } : null;
  } catch {
    return null; // absent, cut off by a power cut, or no certificate at all: all end the same way
  }
}

/** Made on a thread of its own, whose memory is free again when it has ended: what can make one is large, and needed once in ten years. */
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

/** The gateway's own certificate and key; fingerprint: SHA-256, in pairs, what a technician trusts in the PLC. */
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
