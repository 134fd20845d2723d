import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import mqtt from "mqtt";
import { type Db } from "../../../simulators/service/storage/db.ts";
import { openDb } from "../../../simulators/service/storage/open.ts";
import { rangeHash } from "../../../simulators/service/ingest/canonical.ts";
import { heldSeqs, storedRange } from "../../../simulators/service/ingest/records.ts";
import { WINDOW_BATCHES } from "../../../simulators/service/ingest/store.ts";
import { findStream } from "../../../simulators/service/ingest/streams.ts";
import { callerOfKey } from "../../../simulators/service/accounts/keys.ts";
import { provision } from "../../../simulators/service/provisioning/provision.ts";
import { seedSite } from "../../../simulators/service/accounts/seed.ts";
import type { Random } from "../../../src/domain/machine.ts";
import { chunkOf, sha256Of } from "./chunk-log.ts";
import { batchOf, claimBody, EPOCH, type LogRecord } from "./service-log.ts";

const CHILD = new URL("./service-child.ts", import.meta.url);
/** Records of a batch; some milliseconds of work for the service. */
const SIZE = 200;
/** The kill comes after so many acks of a life at most, */
const MOST_ACKS = 6;
/** and then within so much time, about what a batch takes: before, in and after its transaction. */
const LATEST_MS = 15;

export interface ServiceKills {
  readonly kills: number;
  readonly batches: number;
  readonly acked: number;
  /** Batches and chunks that were under way when the service was killed. */
  readonly under_way: number;
  /** Those of them that were committed without an ack; none of the others was stored. */
  readonly committed_unacked: number;
  /** Acked records that aren't there. */
  missing: number;
  /** Batches of which a part was there after a kill. */
  readonly torn: number;
  /** Records there once the rest was sent, beyond those that were made. */
  doubled: number;
  /** The stored range is what was sent, value by value. */
  equal: boolean;
}

/** The nth batch of the stream: its records' values are their seq. */
function recordsOf(batch: number): LogRecord[] {
  return Array.from({ length: SIZE }, (_, i) => {
    const seq = batch * SIZE + i + 1;
    return { kind: "r", tag: "mode", mono: seq * 1000, value: seq, quality: "good" };
  });
}

interface Sent {
  readonly topic: "batch" | "chunk";
  readonly payload: Buffer;
  /** Fields that its ack must have: the hash of its records, or of its message. */
  readonly proof: Readonly<Record<string, string>>;
}

/** Every other one goes as a chunk. */
function sentOf(batch: number): Sent {
  const records = recordsOf(batch);
  const at = { s0: batch * SIZE + 1 };
  if (batch % 2 === 1) {
    const payload = chunkOf(records, at);
    return { topic: "chunk", payload, proof: { chunk: sha256Of(payload) } };
  }
  const payload = gzipSync(JSON.stringify(batchOf(records, at)), { level: 1 });
  return { topic: "batch", payload, proof: { hash: hashOf(records) } };
}

function hashOf(records: readonly LogRecord[]): string {
  return rangeHash(records.map((record) => ({ ...record, boot: "boot-1", value: JSON.stringify(record.value) })));
}

interface Delivery {
  /** Batches whose ack came, with the right hash. */
  readonly acked: Set<number>;
  readonly published: Set<number>;
}

interface Death {
  readonly acks: number;
  readonly after_ms: number;
}

/** Delivers what isn't acked, and more, window by window, until the service is dead; answers what was under way then. */
async function deliverUntilDeath(child: ChildProcess, url: string, at: Delivery & { death: Death }): Promise<number[]> {
  const options = { clientId: "gw-1", username: "gw-1", password: "secret of gw-1", reconnectPeriod: 0 };
  const client = await mqtt.connectAsync(url, options);
  client.on("error", () => undefined);
  const under_way = new Set<number>();
  let acks = 0;
  const kill = (): boolean => child.kill("SIGKILL");
  const publish = (): void => {
    while (under_way.size < WINDOW_BATCHES) {
      let batch = 0;
      while (at.acked.has(batch) || under_way.has(batch)) batch += 1;
      under_way.add(batch);
      at.published.add(batch);
      const { topic, payload } = sentOf(batch);
      client.publish(`bg/v1/gw-1/up/${topic}`, payload, { qos: 1 });
    }
  };
  client.on("message", (_, payload) => {
    const ack = JSON.parse(payload.toString()) as { s0: number; n: number } & Record<string, unknown>;
    const batch = (ack.s0 - 1) / SIZE;
    const isProven = Object.entries(sentOf(batch).proof).every(([name, value]) => ack[name] === value);
    if (ack.n !== SIZE || !isProven) throw new Error(`not our batch: ${payload.toString()}`);
    at.acked.add(batch);
    under_way.delete(batch);
    acks += 1;
    if (acks === at.death.acks) setTimeout(kill, at.death.after_ms);
    publish();
  });
  await client.subscribeAsync("bg/v1/gw-1/down/#", { qos: 1 });
  const dead = once(child, "exit") as Promise<[number | null, string | null]>;
  publish();
  if (at.death.acks === 0) setTimeout(kill, at.death.after_ms);
  const [, signal] = await dead;
  if (signal !== "SIGKILL") throw new Error("the service ended by itself");
  await client.endAsync(true);
  return [...under_way];
}

/** A database whose one booth gateway gw-1 holds. */
export function prepareService(dataDir: string): void {
  const db = openDb(dataDir);
  seedSite(db, { serial: "ABCD1234", provisionKey: "prov" });
  const service = { db, now: () => EPOCH, mqttUrl: () => "", plain: false };
  const caller = callerOfKey(db, "prov", Date.now());
  if (caller === undefined) throw new Error("no key");
  provision(service, { caller, body: claimBody(), now: EPOCH });
  db.close();
}

/** How many records of a batch are there. */
function storedIn(db: Db): (batch: number) => number {
  const stream = findStream(db, "stream-1");
  const held = new Set<number>();
  for (const [from, to] of stream === undefined ? [] : heldSeqs(db, stream)) {
    for (let seq = from; seq <= to; seq += 1) held.add(seq);
  }
  return (batch) => recordsOf(batch).filter(({ value }) => held.has(value as number)).length;
}

function startChild(dataDir: string): ChildProcess {
  const env = { ...process.env, NODE_COMPILE_CACHE: join(dataDir, "compiled") };
  return fork(CHILD, [dataDir], { stdio: ["ignore", "ignore", "inherit", "ipc"], env });
}

/** Kills the service so often with SIGKILL while it takes batches and chunks over MQTT; then counts what it holds. */
export async function killService(dataDir: string, kills: number, random: Random): Promise<ServiceKills> {
  prepareService(dataDir);
  const at: Delivery = { acked: new Set(), published: new Set() };
  const counts = { kills, under_way: 0, committed_unacked: 0, missing: 0, torn: 0 };
  let next = startChild(dataDir);
  for (let kill = 0; kill < kills; kill += 1) {
    const child = next;
    child.send("open");
    const [{ mqttUrl }] = (await once(child, "message")) as [{ mqttUrl: string }];
    next = startChild(dataDir);
    const death = { acks: Math.floor(random.next() * (MOST_ACKS + 1)), after_ms: random.next() * LATEST_MS };
    const left = await deliverUntilDeath(child, mqttUrl, { ...at, death });
    const db = openDb(dataDir);
    const storedOf = storedIn(db);
    const stored = left.map(storedOf);
    counts.under_way += left.length;
    counts.committed_unacked += stored.filter((count) => count === SIZE).length;
    counts.torn += stored.filter((count) => count !== 0 && count !== SIZE).length;
    counts.missing += [...at.acked].reduce((sum, batch) => sum + SIZE - storedOf(batch), 0);
    db.close();
  }
  next.kill("SIGKILL");
  await once(next, "exit");
  return { ...counts, batches: at.published.size, acked: at.acked.size, ...compare(dataDir, at.published.size) };
}

/** Compares the stored stream with the sent one. */
function compare(dataDir: string, batches: number): { doubled: number; equal: boolean } {
  const db = openDb(dataDir);
  const stream = findStream(db, "stream-1");
  const stored = stream === undefined ? [] : storedRange(db, stream, [1, Number.MAX_SAFE_INTEGER]);
  const sent = new Map(
    Array.from({ length: batches }, (_, batch) => recordsOf(batch)).flatMap((list) =>
      list.map((one) => [one.value, JSON.stringify(one.value)]),
    ),
  );
  const equal = stored.every(({ seq, value }) => sent.get(seq) === value);
  const doubled = stored.length - new Set(stored.map(({ value }) => value)).size;
  db.close();
  return { doubled, equal };
}
