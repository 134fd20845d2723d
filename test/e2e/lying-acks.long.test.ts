import { expect, it } from "vitest";
import { hashOf } from "../../src/contract/hash.ts";
import { deliveryBed, type DeliveryBed, type Delivered } from "./delivery-bed.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

const NOTHING = hashOf([]);
const WHOLE = { lost: 0, doubled: 0, wrong: 0, set_aside: [] };

interface Lied {
  readonly bed: DeliveryBed;
  readonly delivered: Delivered;
  readonly status: () => ReturnType<Awaited<ReturnType<DeliveryBed["start"]>>["status"]>;
}

/** The service lies in every ack for some minutes, then tells the truth again. */
async function afterLie(falsify: Record<string, unknown>, minutes = 6): Promise<Lied> {
  const bed = await deliveryBed({ link: { ack_deadline_ms: 300 } });
  const agent = await bed.start();
  await bed.until("the booth is active", () => agent.status().booths[0]?.provisioning.state === "active");
  bed.service.faults.add({ topic: "down/ack", falsify, times: 1_000_000 });
  await bed.pass(minutes * MINUTE_MS);
  bed.service.faults.clear();
  // A rest of five minutes may just have begun.
  await bed.pass(7 * MINUTE_MS);
  const delivered = await bed.settle(agent);
  return { bed, delivered, status: () => agent.status() };
}

it.each([
  ["far beyond its batch", { conflict: 264 }],
  ["at a seq that doesn't exist", { conflict: 0 }],
  ["at the batch's first record, which it took", { conflict: "first" }],
  ["at the batch's first record, with the hash of nothing", { conflict: "first", hash: NOTHING }],
])("a service that names a conflict %s for minutes costs no record and makes no new stream", async (_, lie) => {
  const { bed, delivered } = await afterLie(lie);
  expect(delivered).toMatchObject(WHOLE);
  expect(bed.service.oracle()).toHaveLength(1);
});

it.each([
  ["seqs and a window that make no sense", { acked_seq: -1, newest_seq: "x", window: 0, reject: [{ seq: 1 }, 3] }],
  ["a newest record far ahead of ours", { newest_seq: 1_000_000, acked_seq: 1_000_000 }],
  ["another stream", { st: "a stream of nobody's" }],
  ["a hash of something else", { hash: NOTHING }],
])("a service that tells %s for minutes holds delivery up no longer than that", async (_, lie) => {
  const { bed, delivered, status } = await afterLie(lie);
  expect(delivered).toMatchObject(WHOLE);
  expect(bed.service.oracle()).toHaveLength(1);
  expect(status().booths[0]?.log.forked).toBe(null);
});

it.each([
  ["names each record as refused", { reject: "all", hash: NOTHING }],
  ["calls every batch malformed", { error: "malformed", n: 0, hash: NOTHING }],
])("a service that %s for minutes gets every record once it takes them, and none stays aside", async (_, lie) => {
  const { bed, delivered, status } = await afterLie(lie, 8);
  expect(bed.site.lines.join("\n")).toMatch(/the service has taken \d+ records that it had refused/);
  expect(delivered).toMatchObject(WHOLE);
  expect(status().booths[0]?.log.refused).toEqual({ count: 0, newest: null });
});
