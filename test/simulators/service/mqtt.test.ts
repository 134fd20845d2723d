import { gzipSync, zstdCompressSync } from "node:zlib";
import mqtt, { type IClientOptions, type MqttClient } from "mqtt";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { row } from "../../../simulators/service/storage/db.ts";
import { chunkOf, sha256Of } from "./chunk-log.ts";
import { batchOf, script } from "./service-log.ts";
import { eventually } from "../../support/eventually.ts";
import { claim, type Running, startBench } from "./service-http.ts";

const UP = "bg/v1/gw-1/up";

describe("the reference service over MQTT", () => {
  let bench: Running;
  let clients: MqttClient[] = [];
  beforeEach(async () => {
    bench = await startBench();
    await claim(bench);
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.endAsync(true);
    await bench.running.stop();
  });

  const connect = async (more: IClientOptions = {}): Promise<MqttClient> => {
    const options: IClientOptions = {
      clientId: "gw-1",
      username: "gw-1",
      password: "secret of gw-1",
      reconnectPeriod: 0,
      ...more,
    };
    const client = mqtt.connect(bench.running.mqttUrl, options);
    client.on("error", () => undefined);
    clients = [...clients, client];
    await new Promise<void>((resolve, reject) => {
      client.once("connect", () => resolve());
      client.once("error", reject);
      client.once("close", () => reject(new Error("closed")));
    });
    return client;
  };

  const messages = async (client: MqttClient): Promise<Record<string, unknown>[]> => {
    const received: Record<string, unknown>[] = [];
    client.on("message", (_, payload) => received.push(JSON.parse(payload.toString()) as Record<string, unknown>));
    await client.subscribeAsync("bg/v1/gw-1/down/#", { qos: 1 });
    return received;
  };

  const batch = gzipSync(JSON.stringify(batchOf(script().stage("spray", 60_000).records())));

  it("acks a batch after the commit, and acks the batch again if it is resent after a lost ack", async () => {
    const client = await connect();
    const received = await messages(client);
    bench.running.faults.add({ topic: "down/ack", lose_ack: true });
    await client.publishAsync(`${UP}/batch`, batch, { qos: 1 });
    await eventually("the batch is stored", () => (bench.running.oracle()[0]?.count === 4 ? true : undefined));
    await client.publishAsync(`${UP}/batch`, batch, { qos: 1 });
    const ack = await eventually("an ack", () => received[0]);
    expect(ack).toMatchObject({ st: "stream-1", s0: 1, n: 4, reject: [], conflict: null, acked_seq: 4, window: 4 });
    expect(bench.running.oracle()).toMatchObject([{ count: 4, duplicates_offered: 4 }]);
    expect(await (await fetch(`${bench.running.adminUrl}/oracle`)).json()).toMatchObject({
      streams: [{ ranges: [[1, 4]] }],
    });
  });

  it("accepts a chunk (compressed block) and a zstd-compressed batch, and names both formats in each ack", async () => {
    const client = await connect();
    const received = await messages(client);
    const records = script().stage("spray", 60_000).stage("bake", 60_000).records();
    const zipped = zstdCompressSync(JSON.stringify(batchOf(records.slice(0, 3))));
    await client.publishAsync(`${UP}/batch`, zipped, { qos: 1 });
    const takes = ["chunk/1", "zstd"];
    expect(await eventually("an ack", () => received[0])).toMatchObject({ s0: 1, n: 3, acked_seq: 3, takes });
    const chunk = chunkOf(records.slice(3), { s0: 4 });
    await client.publishAsync(`${UP}/chunk`, chunk, { qos: 1 });
    const acked_seq = records.length;
    const ack = { chunk: sha256Of(chunk), s0: 4, n: acked_seq - 3, reject: [], conflict: null, acked_seq, takes };
    expect(await eventually("an ack", () => received[1])).toMatchObject(ack);
    await client.publishAsync(`${UP}/chunk`, chunk.subarray(1), { qos: 1 });
    const refused = { n: 0, error: "malformed: another version", takes };
    expect(await eventually("an ack", () => received[2])).toMatchObject(refused);
    expect(bench.running.oracle()).toMatchObject([{ count: acked_seq, ranges: [[1, acked_seq]] }]);
  });

  it("loses a chunk (compressed block) or an ack if that fault is planned", async () => {
    const client = await connect();
    const received = await messages(client);
    const chunk = chunkOf(script().stage("spray", 60_000).records().slice(1));
    bench.running.faults.add({ topic: "up/chunk", swallow: "mode" });
    bench.running.faults.add({ topic: "down/ack", lose_ack: true });
    for (let sent = 0; sent < 3; sent += 1) await client.publishAsync(`${UP}/chunk`, chunk, { qos: 1 });
    expect(await eventually("an ack", () => received[0])).toMatchObject({ chunk: sha256Of(chunk), n: 3 });
    expect(bench.running.oracle()).toMatchObject([{ count: 3, duplicates_offered: 3 }]);
  });

  it("rejects a connection with a wrong password, another gateway's name or a provisioning key", async () => {
    await expect(connect({ password: "wrong" })).rejects.toThrow();
    await expect(connect({ username: "gw-2", clientId: "gw-2" })).rejects.toThrow();
    await expect(connect({ username: "prov", clientId: "prov", password: "prov" })).rejects.toThrow();
  });

  it("rejects topics outside the client's own prefix", async () => {
    const client = await connect();
    await expect(client.subscribeAsync("bg/v1/gw-2/down/#")).rejects.toThrow();
    await expect(client.subscribeAsync("#")).rejects.toThrow();
    const closed = new Promise((resolve) => client.once("close", () => resolve(true)));
    client.publish("bg/v1/gw-2/up/batch", batch, { qos: 1 });
    expect(await closed).toBe(true);
    expect(bench.running.oracle()).toMatchObject([{ count: 0 }]);
  });

  it("derives a booth's status from the gateway's heartbeats and MQTT last will", async () => {
    const status = async (): Promise<unknown> =>
      (await bench.call("GET", "/api/booths/b1")).body["connectivity_status"];
    const until = (wanted: string) => eventually(wanted, async () => ((await status()) === wanted ? true : undefined));
    const will = {
      topic: `${UP}/state`,
      payload: Buffer.from('{"v":1,"online":false}'),
      qos: 1 as const,
      retain: true,
    };
    const client = await connect({ will });
    const beat = (mode: string) =>
      client.publishAsync(
        `${UP}/state`,
        JSON.stringify({ v: 1, online: true, booths: [{ serial: "ABCD1234", link: "up", mode }] }),
        { qos: 1, retain: true },
      );
    await beat("spray");
    await until("Active");
    bench.clock.now += 121_000;
    expect(await status()).toBe("Offline");
    await beat("idle");
    await until("Idle");
    client.stream.destroy();
    await until("Offline");
  });

  it("ignores a late last will of an older session", async () => {
    const status = async (): Promise<unknown> =>
      (await bench.call("GET", "/api/booths/b1")).body["connectivity_status"];
    const until = (wanted: string) => eventually(wanted, async () => ((await status()) === wanted ? true : undefined));
    const client = await connect();
    const say = (message: unknown) =>
      client.publishAsync(`${UP}/state`, JSON.stringify(message), { qos: 1, retain: true });
    const booths = [{ serial: "ABCD1234", link: "up", mode: "idle" }];
    await say({ v: 1, online: true, session: "second", booths });
    await until("Idle");
    await say({ v: 1, online: false, session: "first" });
    // Messages are handled in order: the stored hello proves that the message before it was handled.
    await client.publishAsync(`${UP}/hello`, JSON.stringify({ v: 1, session: "second", booths: [] }), { qos: 1 });
    const hello = "SELECT 1 FROM uplink_messages WHERE topic = 'up/hello' AND payload LIKE '%second%'";
    await eventually("the hello", () => Promise.resolve(row<object>(bench.running.db, hello)));
    expect(await status()).toBe("Idle");
    await say({ v: 1, online: false, session: "second" });
    await until("Offline");
  });

  it("sends commands, stores their results, and binds streams from a hello message", async () => {
    const client = await connect();
    const received = await messages(client);
    const booths = [
      {
        stream_id: "stream-9",
        serial: "ABCD1234",
        generation: 1,
        oldest_seq: 1,
        newest_seq: 0,
        predecessor: null,
        config_revision: 1,
      },
    ];
    await client.publishAsync(`${UP}/hello`, JSON.stringify({ v: 1, session: "s", booths }), { qos: 1 });
    await eventually("the stream is bound", () =>
      bench.running.oracle().find((stream) => stream.stream_id === "stream-9"),
    );
    const body = JSON.stringify({ gateway_id: "gw-1", type: "digest", args: { hours: 2 } });
    await fetch(`${bench.running.adminUrl}/command`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    const command = await eventually("a command", () => received[0]);
    expect(command).toMatchObject({ type: "digest", args: { hours: 2 } });
    await client.publishAsync(`${UP}/result`, JSON.stringify({ cmd_id: command["id"], state: "done" }), { qos: 1 });
    const state = () => row<{ state: string }>(bench.running.db, "SELECT state FROM commands")?.state;
    await eventually("the result is kept", () => (state() === "done" ? true : undefined));
  });

  it("disconnects a gateway when the gateway's key is revoked", async () => {
    const client = await connect();
    const closed = new Promise((resolve) => client.once("close", () => resolve(true)));
    const body = JSON.stringify({ gateway_id: "gw-1" });
    await fetch(`${bench.running.adminUrl}/keys/revoke`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    expect(await closed).toBe(true);
    await expect(connect()).rejects.toThrow();
  });
});
