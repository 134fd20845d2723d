import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { OutputConfig } from "../../src/config/port.ts";
import { brokerConnector } from "../../src/outputs/broker.ts";
import { freePort } from "../system/mosquitto.ts";
import { temporaryFolder } from "../support/temporary.ts";

const connect = brokerConnector({ gateway_id: "gw-1", secret: () => "" });
const opening = {
  will: { topic: "t", payload: "", qos: 1, retain: true },
  ignored: () => undefined,
  refused: () => undefined,
  signal: new AbortController().signal,
} as const;

it("connecting an output fails with the reason unreachable without a broker, and with a file error without its CA file", async () => {
  const port = (await freePort()).toString();
  const config: OutputConfig = { name: "plant", url: "", mqtt_version: "v5", max_records_per_s: 100 };
  for (const way of ["mqtt", "mqtts", "ws", "wss"])
    await expect(connect({ ...config, url: `${way}://127.0.0.1:${port}` }, opening)).rejects.toMatchObject({
      name: "ServiceLinkError",
      fault: "unreachable",
    });
  const ca_file = join(temporaryFolder(), "ca.pem");
  await expect(connect({ ...config, url: `mqtts://127.0.0.1:${port}`, ca_file }, opening)).rejects.toMatchObject({
    name: "FileError",
    message: `${ca_file} does not exist: create the file, or correct its path`,
  });
});

it("connecting an output fails with a file error if its client certificate is unusable", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const file = join(temporaryFolder(), "client.pem");
  writeFileSync(file, "no certificate");
  const config: OutputConfig = {
    name: "plant",
    mqtt_version: "v5",
    max_records_per_s: 100,
    url: `mqtts://127.0.0.1:${(server.address() as AddressInfo).port}`,
    client_certificate_file: file,
    client_key_file: file,
  };
  await expect(connect(config, opening)).rejects.toMatchObject({ name: "FileError" });
});
