// Needs a Debian package: python3.
import { expect, it } from "vitest";
import { askAgent } from "../../src/tools/agent-client.ts";
import type { Examination } from "../../src/tools/doctor/finding.ts";
import { dirname, join } from "node:path";
import { PLAIN_SERIAL, strictPlainSite, type PlainSite } from "./strict-plain.ts";

/** A real agent against a service that was written in Python from the interface document alone. */

const ROUTE = "/api/booths_provisioning";
const POSTED = `POST ${ROUTE} 201`;
const COMPLETED = `PUT ${ROUTE}/${PLAIN_SERIAL} 200`;
const BOOTH = { nameplate: PLAIN_SERIAL, facility_id: "f-1", id: 4711, serial_number: PLAIN_SERIAL };
const BOTH = ["id", "serial_number"] as const;

/** Checks that no link is down, no ack is claimed, and doctor reports no fault of the service. */
async function faultless(site: PlainSite): Promise<void> {
  const text = (await site.command("status")).out;
  expect(text).not.toMatch(/DOWN|acked/);
  expect(text).toContain("stored only on the gateway: this service does not accept readings");
  const { findings } = JSON.parse((await site.command("doctor", "--json")).out) as Examination;
  const ofService = findings.filter(({ what }) => ["service", "service link", "readings of booth-1"].includes(what));
  expect(ofService.map(({ what, state }) => `${what}: ${state}`).sort()).toEqual([
    "readings of booth-1: ok",
    "service link: ok",
    "service: ok",
  ]);
}

const booth = async (site: PlainSite) => (await site.status()).booths[0];

it.each([["shows id and serial number", { shown: BOTH }, [POSTED, COMPLETED]]] as const)(
  "a booth at a strict plain service that %s is bound in one attempt without a rejection",
  async (_, way, writes) => {
    const site = await strictPlainSite({ booths: [{ ...BOOTH, nameplate: PLAIN_SERIAL }], ...way });
    const bound = await site.command("provision", PLAIN_SERIAL, "--yes");
    expect(bound).toMatchObject({ code: 0, err: "" });
    expect(await booth(site)).toMatchObject({
      serial: PLAIN_SERIAL,
      provisioning: { state: "active", facility: "Facility f-1", delivery: "none" },
    });
    expect(site.writes()).toEqual(writes);
    await faultless(site);
    // A repeated claim by an unsure person releases nothing and repeats no request.
    expect(await site.command("provision", PLAIN_SERIAL, "--yes")).toMatchObject({ code: 0 });
    expect(site.writes()).toEqual(writes);
  },
);

it("the provision command requires --booth in addition to --yes if the service's answer has no serial number", async () => {
  const site = await strictPlainSite({ booths: [{ nameplate: PLAIN_SERIAL, facility_id: "f-1" }], bare: true });
  const alone = await site.command("provision", PLAIN_SERIAL, "--yes");
  expect(alone.code).toBe(1);
  expect(alone.out).toContain(
    "the service's answer does not contain the serial number; its search found one booth: #1",
  );
  expect(alone.err).toContain("run it again with --yes --booth ID, which is one of #1");
  expect(site.writes()).toEqual([]);
  expect((await site.command("status")).out).not.toMatch(/DOWN|acked/);
  expect(await site.command("provision", PLAIN_SERIAL, "--yes", "--booth", "#1")).toMatchObject({ code: 0 });
  expect(await booth(site)).toMatchObject({
    provisioning: { state: "active", booth_id: null, facility: "Facility f-1" },
  });
  expect(site.writes()).toEqual([POSTED, COMPLETED]);
  const socket = join(dirname(site.configFile), "agent.sock");
  await expect(askAgent(socket, { method: "GET", path: "/booth_fields" })).rejects.toThrow(
    "The service returns no ID for booth-1: without it, the agent cannot request size and brand",
  );
  await faultless(site);
});
