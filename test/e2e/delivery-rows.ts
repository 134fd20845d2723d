import mqtt from "mqtt";
import { expect, it, onTestFinished } from "vitest";
import type { Placed } from "../../src/domain/record.ts";
import type { LinkAccount } from "../../src/delivery/port.ts";
import { hashOf } from "../../src/contract/hash.ts";
import { deliveryBed, type DeliveryBed, type DeliveryBedOptions, type Delivered } from "./delivery-bed.ts";
import { recordFault } from "../support/faults.ts";
import { clickBooth } from "../support/profiles.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

/** A broker under test with the interface that the bed needs. */
export interface RowBroker {
  readonly options: DeliveryBedOptions;
  /** URL that accepts any client with a password. */
  readonly url: (bed: DeliveryBed) => string;
  /** Ends every session, as a crash of the broker does. */
  readonly strike: (bed: DeliveryBed, account: LinkAccount) => Promise<void>;
}

export interface RowBrokers {
  readonly name: string;
  readonly make: () => Promise<RowBroker>;
}

interface Counted {
  readonly row: number;
  readonly fault: string;
  readonly injected: number;
}

/** Compares the service's records with the gateway's and enters the fault in the matrix. */
export function held(entry: Counted, { records, lost, doubled, wrong }: Delivered, isRight = true): void {
  const passed = lost + doubled + wrong === 0 && isRight;
  process.stdout.write(`row ${entry.row}, ${entry.fault}: ${entry.injected} injected, ${records} records\n`);
  recordFault({ ...entry, lost, doubled, wrong, passed });
  expect({ lost, doubled, wrong }).toEqual({ lost: 0, doubled: 0, wrong: 0 });
}

interface Begun {
  readonly bed: DeliveryBed;
  readonly agent: Awaited<ReturnType<DeliveryBed["start"]>>;
  readonly account: () => LinkAccount;
}

/** Waits until the booth is active. */
async function begin(broker: RowBroker, more: DeliveryBedOptions = {}): Promise<Begun> {
  const seen: LinkAccount[] = [];
  const bed = await deliveryBed({
    ...broker.options,
    ...more,
    connecting: async (account) => {
      seen.push(account);
      await broker.options.connecting?.(account);
    },
  });
  const agent = await bed.start();
  await bed.until("the booth is active", () => agent.status().booths[0]?.provisioning.state === "active");
  const account = (): LinkAccount => {
    const last = seen.at(-1);
    if (last === undefined) throw new Error("no session yet");
    return last;
  };
  return { bed, agent, account };
}

/**
 * Returns a profile with a tag name that the service rejects, together with every batch that has a reading of this tag.
 */
function poisonedProfile() {
  const profile = clickBooth();
  const tags = profile.tags.map((tag) => (tag.name === "door_open" ? { ...tag, name: "x".repeat(129) } : tag));
  return { ...profile, tags };
}

/** Returns false acks that a broken or hostile service could send before it reads a batch. */
function lies(stream: string, records: readonly Placed[]): unknown[] {
  const s0 = records[0]?.seq ?? 0;
  const n = records.length;
  const whole = {
    st: stream,
    s0,
    n,
    hash: hashOf(records),
    reject: [],
    conflict: null,
    acked_seq: s0 + n - 1,
    window: 4,
  };
  return [
    { ...whole, n: n - 1, hash: hashOf(records.slice(0, -1)) },
    { ...whole, n: n + 1 },
    { ...whole, s0: s0 + 1 },
    { ...whole, st: "a stream of nobody's" },
    { ...whole, n: 0, hash: hashOf([]), acked_seq: 1_000_000_000 },
    { ...whole, n: 0, hash: hashOf([]), st: "a stream of nobody's", error: "malformed" },
    { st: stream },
    ["no", "ack"],
    "neither",
    null,
  ];
}

/** Tests rows 29, 31 and 35 with a broker. */
export function deliveryRows({ name, make }: RowBrokers): void {
  it(`${name}: a poison record (rejected with its whole batch) is isolated, and all other records are delivered`, async () => {
    const { bed, agent } = await begin(await make(), { site: { profile: poisonedProfile() } });
    await bed.pass(16 * MINUTE_MS);
    const delivered = await bed.settle(agent);
    const { refused } = agent.status().booths[0]?.log ?? { refused: null };
    expect(delivered.refused.length).toBeGreaterThan(0);
    expect(refused).toMatchObject({ count: delivered.refused.length, newest: { reason: "malformed: tags.0" } });
    held({ row: 29, fault: `poison record, ${name}`, injected: delivered.refused.length }, delivered);
  });

  it(`${name}: a record whose batches are never acked is isolated, and all other records are delivered`, async () => {
    const broker = await make();
    const { bed, agent } = await begin(broker, { link: { ...broker.options.link, ack_deadline_ms: 200 } });
    bed.service.faults.add({ topic: "up/batch", swallow: "door_open", times: 1_000_000 });
    await bed.pass(7 * MINUTE_MS);
    const delivered = await bed.settle(agent);
    expect(delivered.refused.length).toBeGreaterThan(0);
    held({ row: 29, fault: `record never answered, ${name}`, injected: delivered.refused.length }, delivered);
  });

  it(`${name}: partial, foreign, false, repeated and lost acks cause no lost or duplicated record`, async () => {
    const random = seededRandom(31);
    let injected = 0;
    const broker = await make();
    const lie = (batch: { stream: string; records: readonly Placed[] }): void => {
      const { gateway_id } = begun.account();
      for (const ack of lies(batch.stream, batch.records)) {
        if (random.next() < 0.5) continue;
        injected += 1;
        begun.bed.service.send(gateway_id, "ack", ack);
      }
      if (random.next() < 0.1) {
        injected += 1;
        begun.bed.service.faults.add({ topic: "down/ack", lose_ack: true });
      }
    };
    const sending: { lie: typeof lie | null } = { lie: null };
    const begun = await begin(broker, {
      link: { ...broker.options.link, ack_deadline_ms: 300 },
      sending: (batch) => sending.lie?.(batch),
    });
    sending.lie = lie;
    await begun.bed.pass(12 * MINUTE_MS);
    sending.lie = null;
    begun.bed.service.faults.clear();
    const delivered = await begun.bed.settle(begun.agent);
    expect(injected).toBeGreaterThan(100);
    expect(delivered.refused).toEqual([]);
    expect(begun.bed.service.oracle()).toHaveLength(1);
    held({ row: 31, fault: `partial, foreign, false and lost acks, ${name}`, injected }, delivered);
  });

  it(`${name}: broker crashes during sessions lose no record`, async () => {
    const broker = await make();
    const { bed, agent, account } = await begin(broker);
    const injected = 8;
    const random = seededRandom(35);
    for (let count = 0; count < injected; count += 1) {
      await bed.pass(random.next() * MINUTE_MS);
      await broker.strike(bed, account());
      await bed.until("the session is gone", () => agent.status().service.kind === "down");
      await bed.until("there is a session", () => agent.status().service.kind === "up");
    }
    held({ row: 35, fault: `sessions lost in mid-delivery, ${name}`, injected }, await bed.settle(agent));
  });

  it(`${name}: the agent reconnects rarely while a second client with the same identity keeps taking over its session`, async () => {
    const broker = await make();
    const { bed, agent, account } = await begin(broker);
    const { client_id, username, credential } = account();
    // This client reconnects within seconds after each lost session, like a careless implementation.
    const thief = mqtt.connect(broker.url(bed), {
      clientId: client_id,
      username,
      password: credential,
      protocolVersion: 4,
      reconnectPeriod: 2,
    });
    thief.on("error", () => undefined);
    onTestFinished(() => void thief.end(true));
    const before = bed.connects();
    await bed.until("the session is gone", () => agent.status().service.kind === "down");
    await bed.pass(8 * MINUTE_MS);
    const tries = bed.connects() - before;
    await thief.endAsync(true);
    await bed.until("there is a session that lasts", () => agent.status().service.kind === "up");
    process.stdout.write(`${name}: ${tries} connects in 8 minutes beside a thief that comes back at once\n`);
    expect(tries).toBeGreaterThan(1);
    expect(tries).toBeLessThan(40);
    held({ row: 35, fault: `same client id twice, ${name}`, injected: tries }, await bed.settle(agent));
  });
}
