import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { run } from "../../simulators/service/storage/db.ts";
import { boothOf, MINUTE, START } from "../support/active-site.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { virtualSite } from "../support/virtual-site.ts";

const OLD = "plc-password-before";
const NEW = "plc-password-after";

it("a connection to the PLC has the passwords of the service's record, new before old, and nobody else sees them", async () => {
  const folder = temporaryFolder();
  const seen: (readonly string[])[] = [];
  const passwords = (known: readonly string[]): void => void seen.push(known);
  const site = virtualSite({ folder, scenario: "standard-cycle", start: START, passwords });
  onTestFinished(() => site.close());
  run(site.service.db, "UPDATE booths SET old_password = ?, new_password = ?", OLD, NEW);
  const agent = await site.start();
  await site.clock.runUntil(() => boothOf(agent).provisioning.state === "active", 10 * MINUTE);
  expect(seen[0]).toEqual([]);
  site.plc.fault = "reset";
  await site.clock.runUntil(() => boothOf(agent).plc.kind === "down", MINUTE);
  site.plc.fault = null;
  await site.clock.runUntil(() => boothOf(agent).plc.kind === "up", MINUTE);
  expect(seen.at(-1)).toEqual([NEW, OLD]);
  const shown = JSON.stringify(agent.status()) + site.lines.join();
  await site.stop();
  // Every session with the PLC after a start has them as well, from the box's own disk.
  const again = await site.start();
  await site.clock.runUntil(() => boothOf(again).plc.kind === "up", MINUTE);
  expect(seen.at(-1)).toEqual([NEW, OLD]);
  await site.stop();
  const kept = readdirSync(folder).map((name) => readFileSync(join(folder, name), "latin1"));
  expect([OLD, NEW].filter((secret) => [shown, ...kept].some((text) => text.includes(secret)))).toEqual([]);
});
