import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { run } from "../../simulators/service/storage/db.ts";
import { provisioningBody } from "../../src/contract/reports-fleet.ts";
import type { ProvisioningRow } from "../../src/domain/provisioning.ts";
import { openSealer } from "../../src/runtime/secrets.ts";
import { openIdentity } from "../../src/store/identity/identity.ts";
import { boothOf, MINUTE, START } from "../support/active-site.ts";
import { localBooth, openSource } from "../support/figures.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { virtualSite } from "../support/virtual-site.ts";

const OLD = "plc-password-before";
const NEW = "plc-password-after";

it("the PLC's passwords from the service are tried newest first, stored encrypted, and appear in no file, log or answer", async () => {
  const folder = temporaryFolder();
  const tried: (readonly string[])[] = [];
  const passwords = (known: readonly string[]): void => void tried.push(known);
  const site = virtualSite({ folder, scenario: "standard-cycle", start: START, passwords });
  onTestFinished(() => site.close());
  run(site.service.db, "UPDATE booths SET old_password = ?, new_password = ?", OLD, NEW);
  const agent = await site.start();
  await site.clock.runUntil(() => boothOf(agent).provisioning.state === "active", 10 * MINUTE);
  expect(tried[0]).toEqual([]);
  site.plc.fault = "reset";
  await site.clock.runUntil(() => boothOf(agent).plc.kind === "down", MINUTE);
  site.plc.fault = null;
  await site.clock.runUntil(() => boothOf(agent).plc.kind === "up", MINUTE);
  expect(tried.at(-1)).toEqual([NEW, OLD]);
  const shown = JSON.stringify(agent.status()) + site.lines.join();
  await site.stop();
  // After a restart the passwords come from the gateway's own disk.
  const again = await site.start();
  await site.clock.runUntil(() => boothOf(again).plc.kind === "up", MINUTE);
  expect(tried.at(-1)).toEqual([NEW, OLD]);
  await site.stop();

  const { source, close } = openSource(folder, site.clock.wall());
  const local = JSON.stringify(provisioningBody(localBooth(source)));
  close();
  const names = readdirSync(folder);
  expect(names).toEqual(expect.arrayContaining(["identity.db", "identity.copy.db", "machine.key", "store.db"]));
  const texts = [shown, local, ...names.map((name) => readFileSync(join(folder, name), "latin1"))];
  expect([OLD, NEW].filter((secret) => texts.some((text) => text.includes(secret)))).toEqual([]);
  const identity = openIdentity(folder, () => "");
  const { record } = identity.provisioning("booth-1") as ProvisioningRow;
  identity.close();
  const sealer = openSealer(folder);
  const sealed = [record?.plc_passwords?.old, record?.plc_passwords?.new];
  expect(sealed.map((one) => (one === undefined || one === null ? null : sealer.open(one)))).toEqual([OLD, NEW]);
});
