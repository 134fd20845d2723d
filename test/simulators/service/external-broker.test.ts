import { type AddressInfo, createServer } from "node:net";
import { gzipSync } from "node:zlib";
import { Aedes } from "aedes";
import mqtt from "mqtt";
import { describe, expect, it, onTestFinished } from "vitest";
import { type RunningService, startService } from "../../../simulators/service/start.ts";
import { eventually } from "../../support/eventually.ts";
import { prepareService } from "./service-kills.ts";
import { batchOf, EPOCH, script } from "./service-log.ts";
import { memoryFolder } from "../../support/temporary.ts";

const RECORDS = script().stage("spray", 60_000).records();
const BATCH = gzipSync(JSON.stringify(batchOf(RECORDS)));

/** A broker that knows nothing of the service but its name and password. */
async function startOther(): Promise<{ url: string; cut: () => void }> {
  const broker = await Aedes.createBroker();
  // eslint-disable-next-line max-params -- the library's signature
  broker.authenticate = (_, name, password, done) =>
    done(null, name === "gw-1" || (name === "service" && password?.toString() === "secret"));
  const server = createServer((socket) => broker.handle(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.close();
    await new Promise<void>((resolve) => broker.close(resolve));
  });
  const cut = (): void => void broker.emit("cut");
  broker.on("client", (client) => broker.once("cut", () => client.conn.destroy()));
  return { url: `mqtt://service@127.0.0.1:${(server.address() as AddressInfo).port}`, cut };
}

async function startWith(url: string, password: string): Promise<RunningService> {
  const dataDir = memoryFolder();
  prepareService(dataDir);
  const clock = { wall: () => EPOCH };
  const service = await startService({ dataDir, port: 0, mqttPort: 0, broker: { urls: [url], password }, clock });
  onTestFinished(() => service.stop());
  return service;
}

describe("the service with an existing MQTT broker", () => {
  it("receives batches and sends acks, even after a lost connection", async () => {
    const other = await startOther();
    const service = await startWith(other.url, "secret");
    expect(service.mqttUrl).toBe(other.url.replace("service@", ""));
    const acks: unknown[] = [];
    const gateway = await mqtt.connectAsync(service.mqttUrl, { username: "gw-1", reconnectPeriod: 50 });
    onTestFinished(() => gateway.endAsync(true));
    gateway.on("message", (_, payload) => acks.push(JSON.parse(payload.toString())));
    await gateway.subscribeAsync("bg/v1/gw-1/down/#", { qos: 1 });
    const acked = (times: number) =>
      eventually(`${times} acks`, async () => {
        await gateway.publishAsync("bg/v1/gw-1/up/batch", BATCH, { qos: 1 });
        return acks.length >= times ? true : undefined;
      });
    await acked(1);
    expect(acks[0]).toMatchObject({ st: "stream-1", n: RECORDS.length, acked_seq: RECORDS.length, reject: [] });
    other.cut();
    const before = acks.length;
    await acked(before + 1);
    expect(service.oracle()).toMatchObject([{ count: RECORDS.length, conflicts_offered: 0 }]);
  });

  it("fails to start with the reason if the broker rejects the password or can't be reached", async () => {
    const other = await startOther();
    await expect(startWith(other.url, "wrong")).rejects.toThrow(/Not authorized|not authorized/);
    await expect(startWith("mqtt://service@127.0.0.1:1", "secret")).rejects.toThrow("ECONNREFUSED");
  });
});
