/** Gateways that offer what they have until it is acked, to a store of either engine: straight to its uplinks, without a broker. */
import { gzipSync } from "node:zlib";
import { oracle } from "../../../simulators/service/admin/oracle.ts";
import type { Db } from "../../../simulators/service/storage/db.ts";
import { callerOfKey } from "../../../simulators/service/accounts/keys.ts";
import type { Downlink } from "../../../simulators/service/ingest/uplink.ts";
import { provision } from "../../../simulators/service/provisioning/provision.ts";
import { seedSite } from "../../../simulators/service/accounts/seed.ts";
import type { Uplinks } from "../../../simulators/service/storage/port.ts";
import { eventually } from "../../support/eventually.ts";
import { batchOf, claimBody, EPOCH, type LogRecord } from "./service-log.ts";

/** Readings of a batch, a second each. */
const READINGS = 10;

export interface Gateway {
  readonly id: string;
  readonly stream: string;
  /** The next seq to be offered, behind what was acked. */
  next: number;
  /** Acked up to here. */
  acked: number;
  offered: number;
}

/** Booths and gateways that hold them, a stream each. */
export function boundGateways(db: Db, count: number): Gateway[] {
  return Array.from({ length: count }, (_, nth) => {
    const serial = `FLEET-${nth}`;
    seedSite(db, { serial, provisionKey: "prov", now: EPOCH });
    const caller = callerOfKey(db, "prov", EPOCH);
    if (caller === undefined) throw new Error("no key");
    const id = `gw-${nth}`;
    const stream = `stream of ${serial}`;
    const service = { db, now: () => EPOCH, mqttUrl: () => "mqtt://127.0.0.1:1", plain: false };
    provision(service, { caller, body: claimBody(id, { serial_number: serial, stream_id: stream }), now: EPOCH });
    db.run("UPDATE streams SET first_seq = 1, acked_seq = 0 WHERE stream_id = ?", [stream]);
    return { id, stream, next: 1, acked: 0, offered: 0 };
  });
}

export function readingsFrom(first: number, count = READINGS): LogRecord[] {
  return Array.from({ length: count }, (_, nth) => {
    const value = (first + nth) % 50;
    return {
      kind: "r",
      tag: `tag ${(first + nth) % 3}`,
      mono: (first + nth) * 1000,
      value,
      quality: "good",
    };
  });
}

export function batchAt({ id, stream }: Gateway, s0: number): Buffer {
  return gzipSync(JSON.stringify(batchOf(readingsFrom(s0), { gateway: id, stream, s0 })));
}

/** Offers a gateway's next batch; where it isn't acked the same one is the next again. Answers whether it was. */
export async function offer(gateway: Gateway, uplinks: Uplinks<Downlink>): Promise<boolean> {
  gateway.offered += 1;
  const payload = batchAt(gateway, gateway.next);
  const taken = await uplinks
    .take({ gateway: gateway.id, topic: "batch", payload, now: EPOCH + gateway.next * 1000 })
    .catch(() => undefined);
  const ack = taken?.ack;
  if (ack === undefined) return false;
  if (ack.error !== undefined || ack.conflict !== null || ack.n !== READINGS) throw new Error(JSON.stringify(ack));
  gateway.next += READINGS;
  gateway.acked = gateway.next - 1;
  return true;
}

/** Each offers until so much is acked. */
export async function deliverAll(
  gateways: readonly Gateway[],
  uplinks: () => Uplinks<Downlink>,
  upTo: number,
): Promise<void> {
  await Promise.all(
    gateways.map(async (gateway) => {
      await eventually(`${gateway.id} has delivered`, async () => {
        for (;;) {
          if (gateway.acked >= upTo) return true;
          if (!(await offer(gateway, uplinks()))) return undefined;
        }
      });
    }),
  );
}

/** Compares the store with the acks: `lost` counts acked seqs that aren't stored, `twice` those stored twice. */
export function account(db: Db, gateways: readonly Gateway[]): { lost: number; twice: number; held: number } {
  const streams = new Map(oracle(db).map((stream) => [stream.stream_id, stream]));
  let lost = 0;
  let held = 0;
  for (const { stream, acked } of gateways) {
    const [first, last] = streams.get(stream)?.ranges[0] ?? [0, 0];
    held += streams.get(stream)?.count ?? 0;
    lost += Math.max(0, acked - (first === 1 ? last : 0));
  }
  return { lost, twice: heldTwice(db), held };
}

/** Seqs of which a row and a segment, or two segments, tell. */
function heldTwice(db: Db): number {
  const sql = `SELECT count(*) AS n FROM segments a JOIN segments b ON a.stream_no = b.stream_no AND a.from_seq < b.from_seq AND a.to_seq >= b.from_seq`;
  return (db.get(sql, []) as { n: number }).n;
}
