import { expect, it } from "vitest";
import { storeCommand, type Command } from "../../simulators/service/ingest/commands.ts";
import { row, rows, run } from "../../simulators/service/storage/db.ts";
import type { Agent } from "../../src/runtime/agent.ts";
import { deliveryBed, type DeliveryBed } from "./delivery-bed.ts";
import { SERIAL } from "../support/virtual-service.ts";

/** An agent that delivers over a real broker, and the passwords that it showed there. */
async function delivering(): Promise<{ bed: DeliveryBed; agent: Agent; passwords: string[] }> {
  const passwords: string[] = [];
  const bed = await deliveryBed({
    connecting: ({ credential }) => Promise.resolve(void passwords.push(credential)),
  });
  const agent = await bed.start();
  await bed.until("the booth is active", () => agent.status().booths[0]?.provisioning.state === "active");
  return { bed, agent, passwords };
}

/** The service publishes the order on down/cmd; waits for its end, which must be a good one. */
async function done(bed: DeliveryBed, type: Command["type"], args: unknown): Promise<unknown> {
  const { service } = bed;
  const gateway = row<{ id: string }>(service.db, "SELECT id FROM gateways");
  const now = service.service.now();
  const command = { gateway_id: gateway?.id ?? "", type, args, expires_at: now + 3_600_000 };
  const sent = storeCommand(service.db, command, now);
  service.send(command.gateway_id, "cmd", sent);
  const said = (): { state: string; result: string | null } | undefined =>
    row(service.db, "SELECT state, result FROM commands WHERE id = ?", sent.id);
  await bed.until(`${type} has ended`, () => !["sent", "accepted"].includes(said()?.state ?? ""));
  expect(said()?.state).toBe("done");
  return (JSON.parse(said()?.result ?? "{}") as { result?: unknown }).result;
}

it("rotate_key over a real broker: the new key opens a session there, the old one ends by itself, and nothing is lost", async () => {
  const { bed, agent, passwords } = await delivering();
  const before = passwords.length;
  expect(await done(bed, "rotate_key", {})).toEqual({ rotated: true });
  const first = passwords[0];
  const last = passwords.at(-1);
  expect(passwords.length).toBeGreaterThan(before);
  expect(last).not.toBe(first);
  const newest = agent.status().booths[0]?.log.newest_seq ?? 0;
  await bed.until("delivery goes on", () => (agent.status().booths[0]?.log.acked_seq ?? 0) > newest);
  const open = "SELECT hash FROM api_keys WHERE scope = 'gateway' AND revoked_at IS NULL AND expires_at IS NULL";
  expect(rows(bed.service.db, open)).toHaveLength(1);
  expect(await bed.settle(agent)).toMatchObject({ lost: 0, doubled: 0, wrong: 0 });
});

it("config_changed over a real broker: the limit counts once it has proved itself, and nothing is lost", async () => {
  const { bed, agent } = await delivering();
  const config = { revision: 2, filters: { exhaust_filter: { limits: { minutes: 4_321 } } } };
  run(bed.service.db, "UPDATE booths SET config = ?", JSON.stringify(config));
  // A look at the record that falls due just then may have found it before the order came.
  expect(await done(bed, "config_changed", { serial: SERIAL, revision: 2 })).toMatchObject({ revision: 2 });
  const limits = (): number[] =>
    rows<{ value: string }>(bed.service.db, "SELECT value FROM records WHERE kind = 'p' ORDER BY seq").flatMap(
      ({ value }) => {
        const { filters } = JSON.parse(value) as { filters: { exhaust_filter?: { limits: { minutes?: number } } } };
        return filters.exhaust_filter?.limits.minutes ?? [];
      },
    );
  await bed.until("the service has the new parameters", () => limits().at(-1) === 4_321);
  expect(limits().filter((minutes) => minutes === 4_321)).toHaveLength(1);
  expect(await bed.settle(agent)).toMatchObject({ lost: 0, doubled: 0, wrong: 0 });
});
