import { expect, it } from "vitest";
import { statusText } from "../../src/cli/status.ts";
import { order, settled } from "../support/orders.ts";
import { activeSite, boothOf, MINUTE } from "../support/active-site.ts";
import { run } from "../../simulators/service/db.ts";
import { SERIAL } from "../support/virtual-service.ts";

it("status says which configurations are not in use: the file that is broken, and the service's revision that was not taken", async () => {
  const { site, agent } = await activeSite({ for_ms: MINUTE, config_refused: "gateway.yaml:3:1: not YAML\n" });
  expect(agent.status().config_refused).toContain("gateway.yaml:3:1");
  expect(statusText(agent.status())).toContain(
    "config    the last good one is in use, the file isn't: gateway.yaml:3:1: not YAML; correct the file, then restart the agent\n",
  );
  expect(statusText(agent.status())).not.toContain("was not taken");
  const config = { revision: 2, filters: { exhaust_filter: { limits: { minutes: 99_999_999 } } } };
  run(site.service.db, "UPDATE booths SET config = ?", JSON.stringify(config));
  await settled(site, order(site, "config_changed", { serial: SERIAL, revision: 2 }).id);
  expect(boothOf(agent).provisioning.refused_revision).toBe(2);
  expect(statusText(agent.status())).toContain(
    "the service's revision 2 was not taken: what was in force before still is",
  );
});
