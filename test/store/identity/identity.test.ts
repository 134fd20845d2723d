import { hash } from "node:crypto";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { openIdentity } from "../../../src/store/identity/identity.ts";
import { openFolder } from "../../../src/store/thread/folder.ts";
import { DAY_MS } from "../../../src/domain/time.ts";
import { temporaryFolder } from "../../support/temporary.ts";

const uuid = (): string => "11111111-1111-4111-8111-111111111111";

it("the identity (gateway id and credential) survives a restart, and only its owner can read it", () => {
  const folder = temporaryFolder();
  const first = openIdentity(folder, uuid);
  first.setCredential("a-secret");
  first.setProvisioning("booth-1", { state: "active" });
  first.close();
  const second = openIdentity(folder, () => "another");
  expect(second.gateway()).toEqual({ gateway_id: uuid(), credential: "a-secret" });
  expect(second.provisioning("booth-1")).toEqual({ state: "active" });
  second.close();
  for (const name of ["identity.db", "identity.copy.db"]) expect(statSync(join(folder, name)).mode & 0o077).toBe(0);
});

it.each([
  ["missing", (path: string) => rmSync(path)],
  ["overwritten", (path: string) => writeFileSync(path, "rubbish".repeat(2_000))],
  ["emptied", (path: string) => writeFileSync(path, "")],
])("the identity is restored from its copy if the file is %s", (_name, spoil) => {
  const folder = temporaryFolder();
  const first = openIdentity(folder, uuid);
  first.setProvisioning("booth-1", { state: "claiming" });
  first.close();
  spoil(join(folder, "identity.db"));
  const second = openIdentity(folder, () => "another");
  expect(second.gateway().gateway_id).toBe(uuid());
  expect(second.provisioning("booth-1")).toEqual({ state: "claiming" });
  second.close();
});

it.each([
  ["emptied", ""],
  ["overwritten", "rubbish".repeat(2_000)],
])(
  "an agent keeps its store and gets a new identity, marked as lost, if the identity file and its copy are %s",
  (_, rubbish) => {
    const folder = temporaryFolder();
    const names = { gateway: () => "gateway-1", stream: () => "stream-1" };
    const budget = { max_bytes: 10_000_000, max_age_ms: DAY_MS };
    const first = openFolder(folder, budget, names);
    first.store.openStream("booth-1");
    expect(first.identity.gateway().is_lost).toBeUndefined();
    first.close();
    for (const name of ["identity.db", "identity.copy.db"]) writeFileSync(join(folder, name), rubbish);
    for (let starts = 0; starts < 2; starts += 1) {
      const again = openFolder(folder, budget, { gateway: () => "gateway-2", stream: () => "another" });
      expect(again.identity.gateway()).toEqual({ gateway_id: "gateway-2", credential: null, is_lost: true });
      expect(again.store.openStream("booth-1").stream).toBe("stream-1");
      again.close();
    }
  },
);

it("an identity file of a newer agent is rejected with a clear message and stays unchanged", () => {
  const folder = temporaryFolder();
  openIdentity(folder, uuid).close();
  const path = join(folder, "identity.db");
  const db = new Database(path);
  db.exec("CREATE TABLE of_tomorrow (one INTEGER) STRICT");
  db.pragma("user_version = 1");
  db.close();
  const sums = (): string[] =>
    ["identity.db", "identity.copy.db"].map((name) => hash("sha256", readFileSync(join(folder, name))));
  const before = sums();
  expect(() => openIdentity(folder, uuid)).toThrow(/a newer agent wrote .*install that version again/);
  expect(sums()).toEqual(before);
});

it("an identity file with a higher version number is opened if it has only known tables", () => {
  const folder = temporaryFolder();
  openIdentity(folder, uuid).close();
  const db = new Database(join(folder, "identity.db"));
  db.pragma("user_version = 8");
  db.close();
  const again = openIdentity(folder, () => "another");
  expect(again.gateway().gateway_id).toBe(uuid());
  again.close();
});
