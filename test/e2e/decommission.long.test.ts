import { expect, it } from "vitest";
import type { Wiped } from "../../src/domain/provisioning.ts";
import { activeSite, boothOf, MINUTE, type ActiveSite } from "../support/active-site.ts";
import { ADMIN_KEY, SERIAL } from "../support/virtual-service.ts";
import { order, settled } from "./orders.ts";
import { HOUR_MS } from "../../src/domain/time.ts";

const SELDOM = { poll_interval_ms: 5 * MINUTE };

/** Starts a bound gateway with rare polls, so that simulated days pass quickly, and records the orders to wipe it. */
async function watchedSite(): Promise<ActiveSite & { readonly wiped: Wiped[] }> {
  const wiped: Wiped[] = [];
  const here = await activeSite({
    for_ms: MINUTE,
    booth: { poll: { fast: SELDOM, slow: SELDOM } },
    commit_interval_ms: 10 * MINUTE,
    heartbeat_interval_ms: HOUR_MS,
    given: (parts) => ({ ...parts, outOfService: (what) => void wiped.push(what) }),
  });
  return { ...here, wiped };
}

it("a remote command to decommission a booth only releases the booth, and never wipes the gateway", async () => {
  const { site, agent, wiped } = await watchedSite();
  const { id } = order(site, "release", { serial: SERIAL, to: "decommissioned" });
  expect(await settled(site, id)).toMatchObject({ state: "done" });
  expect(boothOf(agent).provisioning.state).toBe("released");
  await site.clock.run(10 * MINUTE);
  expect(wiped).toEqual([]);
});

it("a gateway is wiped only after the service's record has shown decommissioned for 24 hours, even across restarts", async () => {
  const { site, wiped } = await watchedSite();
  const body = { status: "decommissioned" };
  const path = `/api/booths_provisioning/${SERIAL}`;
  const sent = site.service.http.send({ method: "PUT", path, key: ADMIN_KEY, body });
  await site.clock.run(MINUTE);
  expect(await sent).toMatchObject({ status: 200 });
  const agent = () => site.control();
  await site.clock.runUntil(() => agent().status().booths[0]?.provisioning.state === "decommissioned", 7 * HOUR_MS);
  for (let part = 0; part < 3; part++) {
    await site.clock.run(7 * HOUR_MS + 30 * MINUTE);
    expect(wiped).toEqual([]);
    await site.stop();
    await site.start();
  }
  await site.clock.runUntil(() => wiped.length > 0, 5 * HOUR_MS);
  expect(wiped).toEqual(["all"]);
});
