import { beforeEach, expect, it } from "vitest";
import { rows } from "../../simulators/service/storage/db.ts";
import { hashOf } from "../../src/contract/hash.ts";
import { temporaryFolder } from "../support/temporary.ts";
import type { Told } from "../support/virtual-link.ts";
import { virtualSite, type VirtualSite } from "../support/virtual-site.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

const START = Date.UTC(2026, 2, 2, 15);

let site: VirtualSite;
/** The first seq of the batch that the service took, and whose ack was lost. */
let taken = 0;

/** Of that batch the service says, with every proof, that it holds another record at its first seq; of all others the truth. */
function denying(batch: unknown, take: () => Told): readonly string[] {
  const { s0 } = batch as { readonly s0: number };
  const ack = s0 === taken ? { ...take(), hash: hashOf([]), conflict: s0 } : take();
  return [JSON.stringify(ack)];
}

beforeEach(async () => {
  site = virtualSite({ folder: temporaryFolder(), scenario: "standard-cycle", start: START });
  await site.start();
  await site.clock.run(5 * MINUTE_MS);
  const { way } = site.service;
  way.answers = (batch, take) => {
    taken = (batch as { readonly s0: number }).s0;
    take();
    way.answers = denying;
    return [];
  };
  await site.clock.run(2 * MINUTE_MS);
});

const streams = (): number => rows(site.service.db, "SELECT id FROM streams").length;

it("a service that denies, with every proof, what it took while the ack was lost gives the log no new name", async () => {
  await site.clock.run(40 * MINUTE_MS);
  site.service.way.answers = (_, take) => [JSON.stringify(take())];
  await site.clock.run(7 * MINUTE_MS);
  await site.stop();
  expect(streams()).toBe(1);
  const held = rows<{ readonly seq: number }>(site.service.db, "SELECT seq FROM records ORDER BY seq");
  expect(held.map(({ seq }) => seq)).toEqual(held.map((_, index) => index + 1));
  expect(held.length).toBeGreaterThan(taken + 100);
});

it("one that denies it after a new start of the agent neither", async () => {
  site.kill();
  await site.start();
  await site.clock.run(40 * MINUTE_MS);
  expect(streams()).toBe(1);
});

it("one that says so for over an hour is believed: delivery goes on under another name", async () => {
  await site.clock.run(80 * MINUTE_MS);
  expect(streams()).toBe(2);
});
