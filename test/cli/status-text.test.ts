import { expect, it } from "vitest";
import { forkTrouble } from "../../src/delivery/service-words.ts";
import { statusText } from "../../src/cli/status.ts";
import type { AgentStatus, BoothStatus } from "../../src/domain/status.ts";
import { order, settled } from "../e2e/orders.ts";
import { activeSite, boothOf, MINUTE } from "../support/active-site.ts";
import { run } from "../../simulators/service/storage/db.ts";
import { SERIAL } from "../support/virtual-service.ts";

it("the status command reports a faulty configuration file or a rejected revision from the service as not in use", async () => {
  const { site, agent } = await activeSite({ for_ms: MINUTE, config_refused: "gateway.yaml:3:1: not YAML\n" });
  expect(agent.status().config_refused).toContain("gateway.yaml:3:1");
  expect(statusText(agent.status())).toContain(
    'config    the last good one is in use, the file isn\'t: gateway.yaml:3:1: not YAML; correct the file, then "booth-gateway reload"\n',
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

it("the status command shows why the agent fell back to MQTT 3.1.1", async () => {
  const { agent } = await activeSite({ for_ms: MINUTE });
  const status = agent.status();
  const spoken = (why: string) => ({
    ...status,
    service: { ...status.service, broker_url: "mqtts://broker.example", mqtt: { version: "3.1.1", why } as const },
  });
  expect(statusText(spoken("since the broker closes the connection at MQTT 5"))).toContain(
    "\nbroker    mqtts://broker.example: MQTT 3.1.1, since the broker closes the connection at MQTT 5\n",
  );
  expect(statusText(spoken(""))).not.toContain("broker ");
});

it("the status command shows the sequence numbers of records that differ at the service or are missing in the store", async () => {
  const { agent } = await activeSite({ for_ms: MINUTE });
  const withLog = (log: Partial<BoothStatus["log"]>): AgentStatus => {
    const [booth] = agent.status().booths;
    if (booth === undefined) throw new Error("no booth");
    return { ...agent.status(), booths: [{ ...booth, log: { ...booth.log, ...log } }] };
  };
  expect(statusText(agent.status())).not.toMatch(/RENAMED|missing/);
  const label = { id: "b", from_seq: 51, predecessor: null, forked_at: 0, forked_seqs: { from: 51, to: 264 } };
  expect(statusText(withLog({ forked: forkTrouble(label, null, { mono: 0, at: 1 }) }))).toContain(
    "  RENAMED   the service had different records than this gateway from seq 51 to 264: since 1970-01-01 00:00 UTC the gateway sends the log under a new name; ask the operator of the service",
  );
  const { storage } = boothOf(agent).log;
  if (storage === null) throw new Error("the store hasn't said how it is");
  expect(statusText(withLog({ storage: { ...storage, quarantined: 7, missing: [[101, 107]] } }))).toContain(
    "WARNING: 7 records are missing because of damage in the store: seq 101 to 107",
  );
});
