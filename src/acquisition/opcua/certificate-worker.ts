import { randomUUID } from "node:crypto";
import { chmodSync, closeSync, fsyncSync, mkdirSync, openSync, renameSync, writeSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { workerData } from "node:worker_threads";
import {
  CertificatePurpose,
  createSelfSignedCertificate,
  generatePrivateKey,
  pemToPrivateKey,
  privateKeyToPEM,
} from "node-opcua-crypto/web";
import { type CertificateOrder, readOwn, uriOf } from "./pki.ts";
import { DAY_MS } from "../../domain/time.ts";

const KEY_BITS = 2048;
const VALIDITY_DAYS = 3650;

async function make({ dir, now }: CertificateOrder): Promise<void> {
  const found = readOwn(dir);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  chmodSync(dir, 0o700);
  // Has the type `unknown`, because Node's types lack this type of the Web Crypto API.
  const privateKey: unknown = found === null ? await generatePrivateKey(KEY_BITS) : await pemToPrivateKey(found.keyPem);
  const keyPem = found?.keyPem ?? (await privateKeyToPEM(privateKey)).privPem;
  const { cert } = await createSelfSignedCertificate({
    privateKey: privateKey as never,
    subject: "CN=booth-gateway",
    applicationUri: (found === null ? null : uriOf(found.certificate)) ?? `urn:booth-gateway:${randomUUID()}`,
    dns: [hostname()],
    notBefore: new Date(now - DAY_MS),
    validity: VALIDITY_DAYS,
    purpose: CertificatePurpose.ForApplication,
  });
  // Writes the key first, because a certificate without its key is ignored.
  writeWhole(join(dir, "own.key"), keyPem);
  writeWhole(join(dir, "own.pem"), cert);
}

/** Replaces a file atomically: after a crash, the file is the old one or the new one. */
function writeWhole(path: string, text: string): void {
  const file = openSync(`${path}.new`, "w", 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(`${path}.new`, path);
}

// An error ends the thread; `makeOwn` rejects with the error.
void make(workerData as CertificateOrder);
