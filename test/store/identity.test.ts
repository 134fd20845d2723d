import { rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openIdentity } from "../../src/store/identity.ts";
import { temporaryFolder } from "../support/temporary.ts";

const uuid = (): string => "11111111-1111-4111-8111-111111111111";

it("identity is kept over a stop, readable by its owner alone", () => {
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
  ["gone", (path: string) => rmSync(path)],
  ["overwritten", (path: string) => writeFileSync(path, "rubbish".repeat(2_000))],
])("identity comes back from its copy when the file is %s", (_name, spoil) => {
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
