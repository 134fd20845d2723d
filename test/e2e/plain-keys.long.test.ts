import { expect, it, onTestFinished } from "vitest";
import { activeSite, boothOf, MINUTE, START } from "../support/active-site.ts";
import { gatewayFigures, openSource } from "../support/figures.ts";
import { PROVISION_KEY } from "../support/virtual-service.ts";
import type { HttpAnswer } from "../../src/delivery/http/client.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { virtualSite, type VirtualSite } from "../support/virtual-site.ts";

const OTHER_KEY = "another-provision-key";
/** Without a broker the service is looked at so often. */
const LOOKED_WITHIN_MS = 6 * MINUTE;
/** A refused key is tried again after a quarter of an hour, give or take half. */
const PROBED_WITHIN_MS = 23 * MINUTE + LOOKED_WITHIN_MS;

/** The service opens to that key alone; to no key at all, and with 403, where it is null. */
function guard({ service }: VirtualSite, opens: string | null): { opens: string | null; refused: number } {
  const door = { opens, refused: 0 };
  const send = service.http.send.bind(service.http);
  const between: typeof send = (request) => {
    if (request.key === door.opens) return send({ ...request, key: PROVISION_KEY });
    door.refused += 1;
    const text = JSON.stringify({ error: "no such key" });
    const answer: HttpAnswer = { status: door.opens === null ? 403 : 401, headers: {}, text };
    return Promise.resolve(answer);
  };
  Object.assign(service.http, { send: between });
  return door;
}

/** Nothing of the day is missing, whatever the service said meanwhile. */
function isKept(folder: string, site: VirtualSite): void {
  const { source, close } = openSource(folder, site.clock.wall());
  const { minutes } = gatewayFigures(source, { start: START + MINUTE, end: site.clock.wall() - MINUTE });
  close();
  expect(minutes["No Data"] ?? 0).toBeLessThan(0.1);
}

it.each([
  [401, OTHER_KEY],
  [403, null],
] as const)(
  "plain level, %i to a key that was good: said in words, everything kept, and over with another key",
  async (_, opens) => {
    let key = PROVISION_KEY;
    const { site, agent, folder } = await activeSite({
      for_ms: MINUTE,
      facility: { plain: true },
      first_key: () => key,
    });
    const door = guard(site, opens);
    const said = () => boothOf(agent).provisioning;
    const { newest_seq } = boothOf(agent).log;
    await site.clock.runUntil(() => said().reason !== "", LOOKED_WITHIN_MS);
    expect(said()).toMatchObject({ state: "active", delivery: "none" });
    expect(said().reason).toMatch(/^the service refuses the key: no such key/);
    expect(said().advice).toMatch(/give another key/);
    const asked = door.refused;
    await site.clock.run(PROBED_WITHIN_MS);
    // Tried again now and then, and told once.
    expect(door.refused - asked).toBeGreaterThanOrEqual(1);
    expect(door.refused - asked).toBeLessThanOrEqual(6);
    expect(site.lines.filter((line) => line.includes("refuses the key"))).toHaveLength(1);
    expect(boothOf(agent).log.newest_seq).toBeGreaterThan(newest_seq + 100);
    expect(boothOf(agent).plc.kind).toBe("up");
    door.opens = OTHER_KEY;
    key = OTHER_KEY;
    await site.clock.runUntil(() => said().reason === "", PROBED_WITHIN_MS);
    expect(said()).toMatchObject({ state: "active", advice: "" });
    await site.clock.run(2 * MINUTE);
    await site.stop();
    isKept(folder, site);
  },
);

it.each([
  [401, OTHER_KEY],
  [403, null],
] as const)(
  "plain level, %i at the first claim: denied in words, polled and kept meanwhile, bound with another key",
  async (_, opens) => {
    let key = PROVISION_KEY;
    const folder = temporaryFolder();
    const facility = { plain: true };
    const site = virtualSite({ folder, scenario: "busy-day", start: START, facility, first_key: () => key });
    onTestFinished(() => site.close());
    const door = guard(site, opens);
    const agent = await site.start();
    const said = () => boothOf(agent).provisioning;
    await site.clock.runUntil(() => said().state === "denied", MINUTE);
    expect(said().reason).toMatch(/^the service refused the key: no such key/);
    await site.clock.run(2 * MINUTE);
    expect(boothOf(agent).log.newest_seq).toBeGreaterThan(20);
    expect(boothOf(agent).log.acked_seq).toBe(0);
    door.opens = OTHER_KEY;
    key = OTHER_KEY;
    await site.clock.runUntil(() => said().state === "active", PROBED_WITHIN_MS);
    await site.stop();
    isKept(folder, site);
  },
);
