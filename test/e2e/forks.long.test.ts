import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openIdentity } from "../../src/store/identity/identity.ts";
import type { ProvisioningRow } from "../../src/domain/provisioning.ts";
import type { Agent } from "../../src/runtime/agent.ts";
import { compare, deliveryBed, type DeliveryBed } from "./delivery-bed.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { MINUTE_MS, HOUR_MS } from "../../src/domain/time.ts";

const boothOf = (agent: Agent) => {
  const [booth] = agent.status().booths;
  if (booth === undefined) throw new Error("no booth");
  return booth;
};

async function active(): Promise<{ bed: DeliveryBed; agent: Agent }> {
  const bed = await deliveryBed();
  const agent = await bed.start();
  await bed.until("the booth is active", () => boothOf(agent).provisioning.state === "active");
  await bed.pass(5 * MINUTE_MS);
  return { bed, agent };
}

/** While its sockets speak time goes on: what a stop waits for comes over them. */
async function stopped(bed: DeliveryBed): Promise<void> {
  let isOver = false;
  const over = bed.site.stopping().then(() => void (isOver = true));
  await bed.until("the agent has stopped", () => isOver);
  await over;
}

/** The box's store as it was some minutes ago takes the present one's place; meanwhile the service took what isn't in it. */
async function putBack(bed: DeliveryBed, minutes: number): Promise<{ agent: Agent; held_to: number }> {
  await stopped(bed);
  const copy = temporaryFolder();
  cpSync(join(bed.folder, "store.db"), join(copy, "store.db"));
  let agent = await bed.start();
  await bed.pass(minutes * MINUTE_MS);
  await stopped(bed);
  cpSync(join(copy, "store.db"), join(bed.folder, "store.db"));
  for (const suffix of ["-wal", "-shm"]) rmSync(join(bed.folder, `store.db${suffix}`), { force: true });
  const held_to = Math.max(...bed.service.oracle().flatMap(({ ranges }) => ranges.map(([, to]) => to)));
  agent = await bed.start();
  return { agent, held_to };
}

it("an old copy of the store put back gives the log one new name, with a warning; a second one within a day waits, and goes on after it", async () => {
  const { bed } = await active();
  const first = await putBack(bed, 6);
  await bed.until("the log has another name", () => boothOf(first.agent).log.forked !== null);
  const { label } = boothOf(first.agent).log;
  expect(first.held_to).toBeGreaterThan(label?.from_seq ?? Infinity);
  const seqs = `under seq ${label?.from_seq.toString() ?? ""} to ${first.held_to}`;
  const told = `the service held other records than this box ${seqs}: since`;
  expect(boothOf(first.agent).log.forked?.reason).toContain(told);
  expect(bed.site.lines.filter((line) => line.includes(told))).toHaveLength(1);
  await bed.until("the service has it", () => bed.service.oracle().length === 2);
  const { agent, held_to } = await putBack(bed, 6);
  await bed.until("the second waits", () => /waits until/.test(boothOf(agent).log.forked?.reason ?? ""));
  expect(boothOf(agent).log.forked?.reason).toMatch(new RegExp(`under seq \\d+ to ${held_to}: a second`));
  expect(agent.status().service.kind).toBe("up");
  await bed.pass(20 * MINUTE_MS);
  expect(bed.service.oracle()).toHaveLength(2);
  expect(bed.site.lines.filter((line) => line.includes("a second new name within a day waits"))).toHaveLength(1);
  bed.site.clock.stepWall(24 * HOUR_MS);
  await bed.until("the log has a third name", () => bed.service.oracle().length === 3);
});

it("a stored name that begins before the log does is mended at the start, and everything is delivered", async () => {
  const { bed } = await active();
  await stopped(bed);
  const identity = openIdentity(bed.folder, () => "never");
  const row = identity.provisioning("booth-1") as ProvisioningRow;
  const stream_id = bed.service.oracle()[0]?.stream_id ?? "";
  const bogus = { id: "bogus", from_seq: 0, predecessor: { stream_id, last_seq: -1 }, booth_from_seq: 1 };
  identity.setProvisioning("booth-1", { ...row, stream: bogus });
  identity.close();
  const agent = await bed.start();
  expect(bed.site.lines.join("\n")).toMatch(/the log's name at the service was to begin before the log does/);
  await bed.pass(5 * MINUTE_MS);
  expect(await bed.settle(agent)).toMatchObject({ lost: 0, doubled: 0, wrong: 0, set_aside: [] });
  expect(bed.service.oracle().map(({ stream_id: id }) => id)).toEqual([stream_id, "bogus"]);
  expect(compare(bed.folder, bed.service).lost).toBe(0);
});
