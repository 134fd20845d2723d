import { chmodSync, copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import type { OpcuaAddress } from "../../../src/config/port.ts";
import type { LinkError } from "../../../src/domain/link-error.ts";
import { recordFault } from "../../support/faults.ts";
import { failure, never, readGroup } from "../driver-calls.ts";
import { opcuaBed, PASSWORD } from "./opcua-bed.ts";

const bed = opcuaBed();

async function refusal(more: Partial<OpcuaAddress> = {}): Promise<LinkError> {
  return failure(
    bed()
      .make({ address: bed().address(more) })
      .open(never),
  );
}

function nothingSecretWentOut(): void {
  const { server, gate } = bed();
  expect(server.logins).toEqual([]);
  expect(gate.sent().includes(PASSWORD)).toBe(false);
}

/** Enters a rejection into the fault matrix. */
function refusedWithoutPassword(fault: string): void {
  nothingSecretWentOut();
  recordFault({ row: 23, fault, injected: 1, lost: 0, doubled: 0, wrong: 0, passed: true });
}

describe("fault matrix row 23: an OPC UA server whose identity is not proven", () => {
  test("gets no password, and is rejected with a fingerprint to pin if its certificate is unknown", async () => {
    const { server, address, make } = bed();
    const { server_certificate_fingerprint, ...unpinned } = address();
    const error = await failure(make({ address: unpinned }).open(never));
    expect(error.kind).toBe("config");
    expect(error.message).toContain(`opcua.server_certificate_fingerprint: "${server.fingerprint()}"`);
    expect(error.message).toMatch(/SHA-256 ([0-9A-F]{2}:){31}[0-9A-F]{2}\. Compare it/);
    expect(server_certificate_fingerprint).toBe(server.fingerprint());
    refusedWithoutPassword("certificate untrusted");
  });

  test("gets no password, and is rejected with its new fingerprint if its certificate has changed", async () => {
    const { server, again, address } = bed();
    const pinned = server.fingerprint();
    await again({ new_certificate: true });
    expect(server.fingerprint()).not.toBe(pinned);
    const error = await refusal({ ...address(), server_certificate_fingerprint: pinned });
    expect(error.kind).toBe("config");
    expect(error.message).toContain("has changed");
    expect(error.message).toContain(server.fingerprint());
    refusedWithoutPassword("certificate changed");
  });

  test("gets no password, and is rejected with the expiry date if its pinned certificate has expired", async () => {
    await bed().again({ new_certificate: true, certificate_days: -1 });
    const error = await refusal();
    expect(error.kind).toBe("config");
    expect(error.message).toMatch(/expired on 20\d\d-/);
    refusedWithoutPassword("certificate expired");
  });

  test("gets no password, and is rejected if it offers only the security policy None", async () => {
    await bed().again({ none_only: true });
    const error = await refusal();
    expect(error.kind).toBe("config");
    expect(error.message).toContain("does not offer Basic256Sha256, only None: enable security in the server");
    refusedWithoutPassword("only None on offer");
  });

  test("is connected with the configured security policy, even if it also offers the policy None", async () => {
    await bed().again({ none_too: true });
    const driver = bed().make();
    await driver.open(never);
    expect((await readGroup(driver, "fast")).every(({ quality }) => quality === "good")).toBe(true);
    expect(bed().gate.sent().includes(PASSWORD)).toBe(false);
    expect(bed().server.logins).toEqual([{ user: "gateway", password: PASSWORD }]);
  });

  test("gives only uncertain values and gets no password if the configuration allows the policy None", async () => {
    await bed().again({ none_only: true, allow_anonymous: true });
    const { make, address } = bed();
    const { user, password_file, ...anonymous } = address({ security_policy: "None", allow_insecure: true });
    const driver = make({ address: anonymous });
    await driver.open(never);
    const samples = await readGroup(driver, "fast");
    expect(samples.every(({ quality, reason }) => quality === "uncertain" && reason === "insecure")).toBe(true);
    const error = await failure(
      make({ address: { ...anonymous, user: user ?? "", password_file: password_file ?? "" } }).open(never),
    );
    expect(error.message).toContain("no password may be sent");
    expect((await refusal({ ...anonymous, allow_insecure: false })).message).toContain("allow_insecure");
    nothingSecretWentOut();
  });
});

describe("a pinned OPC UA server", () => {
  test("is accepted if its authority is pinned, unless the authority, the address or the expiry date is wrong", async () => {
    const { again, server, make, address } = bed();
    await again({ new_certificate: true, ca_signed: true });
    const { server_certificate_fingerprint, ...rest } = address();
    expect(server_certificate_fingerprint).toHaveLength(64);
    const byAuthority = { ...rest, server_certificate_file: server.authorityFile() };
    const driver = make({ address: byAuthority });
    await driver.open(never);
    expect((await readGroup(driver, "slow")).length).toBeGreaterThan(5);
    await driver.close();
    server.logins.splice(0);
    const kept = join(bed().dir, "authority.pem");
    copyFileSync(server.authorityFile(), kept);
    await again({ new_certificate: true, ca_signed: true });
    // A certificate with the same name and another key.
    const other = await refusal({ ...byAuthority, server_certificate_file: kept });
    expect(other.message).toContain("neither the one in the file nor signed by CN=Plant authority");
    await again({ new_certificate: true, ca_signed: true, certificate_ip: "192.0.2.9" });
    const another = await failure(
      make({ address: { ...rest, server_certificate_file: server.authorityFile() } }).open(never),
    );
    expect(another.message).toMatch(/signed by CN=Plant authority, but for .*192\.0\.2\.9.*, not for 127\.0\.0\.1/);
    await again({ new_certificate: true, ca_signed: true, certificate_ip: "127.0.0.1", certificate_days: -1 });
    const expired = await failure(
      make({ address: { ...rest, server_certificate_file: server.authorityFile() } }).open(never),
    );
    expect(expired.message).toContain("expired on");
    nothingSecretWentOut();
  });

  test("is rejected with the gateway's fingerprint if the server doesn't trust the gateway's certificate", async () => {
    await bed().again({ new_certificate: true, trust_clients: false });
    const error = await refusal();
    expect(error.kind).toBe("config");
    expect(error.message).toMatch(/gateway's certificate yet, SHA-256 ([0-9A-F]{2}:){31}[0-9A-F]{2}: trust it/);
    nothingSecretWentOut();
  });

  test("is rejected with a reason if the password is wrong, missing, or readable by others", async () => {
    const { dir, address, make } = bed();
    const file = join(dir, "password");
    writeFileSync(file, "quite-wrong", { mode: 0o600 });
    const wrong = await refusal({ password_file: file });
    expect(wrong.kind).toBe("config");
    expect(wrong.message).toContain("rejects the login");
    expect(wrong.message).not.toContain("quite-wrong");
    chmodSync(file, 0o644);
    expect((await refusal({ password_file: file })).message).toContain("chmod 600");
    const { user, password_file, ...anonymous } = address();
    expect((await failure(make({ address: anonymous }).open(never))).message).toContain("requires a login");
    expect([user, password_file]).not.toContain(undefined);
  });

  test("is reported as busy if it accepts no further session", async () => {
    await bed().again({ max_sessions: 0 });
    expect((await refusal()).kind).toBe("busy");
  });
});
