import { render } from "../../src/domain/messages/render.ts";
import { expect, it } from "vitest";
import type { HttpAnswer } from "../../src/delivery/http/client.ts";
import { activeSite, boothOf, MINUTE, START } from "../support/active-site.ts";
import { gatewayFigures, openSource } from "../support/figures.ts";
import { PROVISION_KEY } from "../support/virtual-service.ts";

const OTHER_KEY = "another-provision-key";
/** Interval at which the gateway reads its record if it has no broker. */
const READ_WITHIN_MS = 6 * MINUTE;
/** A rejected key is retried after 15 min, with 50 % jitter. */
const RETRIED_WITHIN_MS = 23 * MINUTE + READ_WITHIN_MS;

it.each([
  [401, OTHER_KEY],
  [403, null],
] as const)(
  "a plain service that answers %i to a valid key is logged once, and readings are kept in the meantime",
  async (status, accepted) => {
    let key = PROVISION_KEY;
    const facility = { plain: true };
    const { site, agent, folder } = await activeSite({ for_ms: MINUTE, facility, first_key: () => key });
    const door: { accepts: string | null; refused: number } = { accepts: accepted, refused: 0 };
    const { http } = site.service;
    const send = http.send.bind(http);
    const guarded: typeof send = (request) => {
      if (request.key === door.accepts) return send({ ...request, key: PROVISION_KEY });
      door.refused += 1;
      const answer: HttpAnswer = { status, headers: {}, text: JSON.stringify({ error: "no such key" }) };
      return Promise.resolve(answer);
    };
    Object.assign(http, { send: guarded });
    const provisioning = () => boothOf(agent).provisioning;
    const { newest_seq } = boothOf(agent).log;
    await site.clock.runUntil(() => provisioning().reason !== "", READ_WITHIN_MS);
    expect(provisioning()).toMatchObject({ state: "active", delivery: "none" });
    expect(render(provisioning().reason)).toMatch(/^the service rejects the key: no such key/);
    expect(render(provisioning().advice)).toMatch(/replace the old key/);
    const asked = door.refused;
    await site.clock.run(RETRIED_WITHIN_MS);
    expect(door.refused - asked).toBeGreaterThanOrEqual(1);
    expect(door.refused - asked).toBeLessThanOrEqual(6);
    expect(site.lines.filter((line) => line.includes("rejects the key"))).toHaveLength(1);
    expect(boothOf(agent).log.newest_seq).toBeGreaterThan(newest_seq + 100);
    expect(boothOf(agent).plc.kind).toBe("up");
    // A first claim with a wrong key is denied. Readings are kept meanwhile.
    await agent.enterSerial("booth-1", boothOf(agent).serial ?? "", { by: "alex", note: "" });
    await site.clock.runUntil(() => provisioning().state === "denied", 2 * MINUTE);
    expect(render(provisioning().reason)).toMatch(/^the service rejects the key: no such key/);
    door.accepts = OTHER_KEY;
    key = OTHER_KEY;
    await site.clock.runUntil(() => provisioning().state === "active", RETRIED_WITHIN_MS);
    expect(provisioning()).toMatchObject({ reason: "" });
    await site.clock.run(2 * MINUTE);
    await site.stop();
    const { source, close } = openSource(folder, site.clock.wall());
    const { minutes } = gatewayFigures(source, { start: START + MINUTE, end: site.clock.wall() - MINUTE });
    close();
    expect(minutes["No Data"] ?? 0).toBeLessThan(0.1);
  },
);
