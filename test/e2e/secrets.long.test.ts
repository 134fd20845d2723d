import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { run } from "../../simulators/service/storage/db.ts";
import { START, MINUTE } from "../support/active-site.ts";
import { provisioningBody } from "../../src/contract/reports-fleet.ts";
import { localBooth, openSource } from "../support/figures.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { openIdentity } from "../../src/store/identity/identity.ts";
import { openSealer } from "../../src/runtime/secrets.ts";
import type { ProvisioningRow } from "../../src/domain/provisioning.ts";
import { virtualSite } from "../support/virtual-site.ts";

const PLANTED = ["plant3d-old-pa55word", "plant3d-new-pa55word"];

it("the PLC's passwords in the service's record are kept sealed, and stand nowhere in clear: no file, no log line, no status", async () => {
  const folder = temporaryFolder();
  const site = virtualSite({ folder, scenario: "busy-day", start: START });
  run(site.service.db, "UPDATE booths SET old_password = ?, new_password = ?", ...PLANTED);
  const agent = await site.start();
  await site.clock.runUntil(() => agent.status().booths[0]?.provisioning.state === "active", 10 * MINUTE);
  await site.clock.run(MINUTE);
  const shown = JSON.stringify(agent.status());
  await site.stop();
  const files = readdirSync(folder).filter((name) => /\.(db|db-wal|key)$/.test(name));
  expect(files).toEqual(expect.arrayContaining(["identity.db", "identity.copy.db", "machine.key", "store.db"]));
  const { source, close } = openSource(folder, site.clock.wall());
  const local = JSON.stringify(provisioningBody(localBooth(source)));
  close();
  const texts = [...files.map((name) => readFileSync(join(folder, name), "latin1")), shown, local, ...site.lines];
  for (const secret of PLANTED) expect(texts.filter((text) => text.includes(secret))).toEqual([]);

  const identity = openIdentity(folder, () => "");
  const row = identity.provisioning("booth-1") as ProvisioningRow;
  identity.close();
  const { old, new: next } = row.record?.plc_passwords ?? { old: null, new: null };
  const sealer = openSealer(folder);
  expect([old, next].map((secret) => (secret === null ? null : sealer.open(secret)))).toEqual(PLANTED);
  site.close();
});
