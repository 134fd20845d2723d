import { generateKeyPairSync } from "node:crypto";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as crypto_utils from "node-opcua-crypto/web";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { OPCUA_POLICIES } from "../../../src/config/gateway-schema.ts";
import type { OpcuaAddress } from "../../../src/config/port.ts";
import { parseCertificate } from "../../../src/acquisition/opcua/pki.ts";
import { failure, never, readGroup } from "../driver-calls.ts";
import { NOW, opcuaBed, PASSWORD } from "./opcua-bed.ts";
import { DAY_MS } from "../../../src/domain/time.ts";

const bed = opcuaBed();
const folder = mkdtempSync(join(tmpdir(), "bg-opcua-user-"));
const files = { user_certificate_file: join(folder, "user.pem"), user_key_file: join(folder, "user.key") };

beforeAll(async () => {
  const privateKey: unknown = await crypto_utils.generatePrivateKey(2048);
  const { cert } = await crypto_utils.createSelfSignedCertificate({
    privateKey: privateKey as never,
    subject: "CN=technician",
    notBefore: new Date(NOW - DAY_MS),
    validity: 30,
    purpose: crypto_utils.CertificatePurpose.ForUserAuthentication,
  });
  writeFileSync(files.user_certificate_file, cert);
  const { privPem } = await crypto_utils.privateKeyToPEM(privateKey);
  writeFileSync(files.user_key_file, privPem, { mode: 0o600 });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function withCertificate(more: Partial<OpcuaAddress> = {}): OpcuaAddress {
  const { user, password_file, ...rest } = bed().address();
  expect([user, password_file]).not.toContain(undefined);
  return { ...rest, ...files, ...more };
}

const encrypted = OPCUA_POLICIES.filter((policy) => policy !== "None");

describe("login with each encrypted security policy", () => {
  for (const security_policy of encrypted) {
    test(`succeeds with ${security_policy} by name and by certificate, without a secret in clear text`, async () => {
      const { make, address, server, gate } = bed();
      for (const one of [address({ security_policy }), withCertificate({ security_policy })]) {
        const driver = make({ address: one });
        await driver.open(never);
        expect((await readGroup(driver, "fast")).every(({ quality }) => quality === "good")).toBe(true);
      }
      expect(server.logins).toEqual([{ user: "gateway", password: PASSWORD }]);
      const sent = gate.sent();
      const secrets = [PASSWORD, "CN=technician", "technician", "Arp.Plc.Eclr"];
      expect(secrets.filter((secret) => sent.includes(secret))).toEqual([]);
    });
  }
});

describe("login by certificate", () => {
  test("succeeds with a certificate in DER format", async () => {
    const der = join(bed().dir, "user.der");
    writeFileSync(der, parseCertificate(readFileSync(files.user_certificate_file)).raw);
    const driver = bed().make({ address: withCertificate({ user_certificate_file: der }) });
    await driver.open(never);
    expect((await readGroup(driver, "fast"))[0]?.quality).toBe("good");
  });

  test("fails with the server's rejection if the server doesn't trust the certificate", async () => {
    await bed().again({ new_certificate: true, trust_users: false });
    const address = withCertificate({ server_certificate_fingerprint: bed().server.fingerprint() });
    const error = await failure(bed().make({ address }).open(never));
    expect(error.kind).toBe("config");
    expect(error.message).toContain("rejects the login");
  });

  test("fails locally if the key file is readable by others, doesn't match, or holds no key", async () => {
    const { dir, make } = bed();
    const key = join(dir, "user.key");
    const refusal = async (): Promise<string> => {
      const error = await failure(make({ address: withCertificate({ user_key_file: key }) }).open(never));
      expect(error.kind).toBe("config");
      return error.message;
    };
    writeFileSync(key, readFileSync(files.user_key_file));
    chmodSync(key, 0o644);
    expect(await refusal()).toContain(`chmod 600 ${key}`);
    chmodSync(key, 0o600);
    const other = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
    writeFileSync(key, other.export({ type: "pkcs8", format: "pem" }));
    expect(await refusal()).toContain("does not belong to");
    const locked = { type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "abc" } as const;
    writeFileSync(key, other.export(locked));
    expect(await refusal()).toContain("has a passphrase");
    writeFileSync(key, "not a key");
    expect(await refusal()).toContain(`${key} holds no private key`);
    const none = withCertificate({ user_certificate_file: key });
    expect((await failure(make({ address: none }).open(never))).message).toContain("holds no certificate");
  });
});

describe("login by name with the passwords of the service's record", () => {
  const byRecord = (): OpcuaAddress => {
    const { password_file, ...rest } = bed().address();
    expect(password_file).toBeTypeOf("string");
    return rest;
  };

  test("tries all passwords in turn until the PLC accepts a password", async () => {
    const { make, server, gate } = bed();
    for (const known of [
      [PASSWORD, "before"],
      ["not yet", PASSWORD],
    ]) {
      const driver = make({ address: byRecord(), passwords: () => known });
      await driver.open(never);
      expect((await readGroup(driver, "fast"))[0]?.quality).toBe("good");
    }
    const attempts = [PASSWORD, "not yet", PASSWORD].map((password) => ({ user: "gateway", password }));
    expect(server.logins).toEqual(attempts);
    expect([PASSWORD, "not yet"].filter((secret) => gate.sent().includes(secret))).toEqual([]);
  });

  test("fails if every password is rejected or the record contains no password", async () => {
    const { make, server } = bed();
    const refused = await failure(make({ address: byRecord(), passwords: () => ["one", "two"] }).open(never));
    expect(refused).toMatchObject({ kind: "config" });
    expect(refused.message).toContain("rejects the login");
    expect(server.logins.map(({ password }) => password)).toEqual(["one", "two"]);
    for (const passwords of [() => [], undefined]) {
      const none = await failure(make({ address: byRecord(), ...(passwords && { passwords }) }).open(never));
      expect(none.message).toContain("has no PLC password yet");
    }
    expect(server.logins).toHaveLength(2);
  });

  test("uses the configured password file instead of the record's passwords", async () => {
    const asked = (): never => {
      throw new Error("asked");
    };
    const driver = bed().make({ passwords: asked });
    await driver.open(never);
    expect(bed().server.logins).toEqual([{ user: "gateway", password: PASSWORD }]);
  });
});

describe("an OPC UA server's certificate configured as a file", () => {
  test("is accepted in PEM and DER, and a server with another certificate is rejected", async () => {
    const { make, address, server, dir } = bed();
    const { server_certificate_fingerprint, ...rest } = address();
    expect(server_certificate_fingerprint).toBe(server.fingerprint());
    const pem = readFileSync(server.certificateFile());
    const der = join(dir, "server.der");
    writeFileSync(der, parseCertificate(pem).raw);
    for (const server_certificate_file of [server.certificateFile(), der]) {
      const driver = make({ address: { ...rest, server_certificate_file } });
      await driver.open(never);
      expect((await readGroup(driver, "fast"))[0]?.quality).toBe("good");
    }
    server.logins.splice(0);
    const wrong = { ...rest, server_certificate_file: files.user_certificate_file };
    const error = await failure(make({ address: wrong }).open(never));
    expect(error).toMatchObject({ kind: "config" });
    expect(error.message).toContain("has changed");
    expect(error.message).toContain(server.fingerprint().toUpperCase().match(/../g)?.join(":") ?? "none");
    expect(error.message).toContain(files.user_certificate_file);
    expect(server.logins).toEqual([]);
  });
});
