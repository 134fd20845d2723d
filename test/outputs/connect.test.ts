import { join } from "node:path";
import { expect, it } from "vitest";
import type { OutputConfig } from "../../src/config/port.ts";
import { brokerConnector } from "../../src/outputs/broker.ts";
import { freePort } from "../system/mosquitto.ts";
import { temporaryFolder } from "../support/temporary.ts";

const connect = brokerConnector({ gateway_id: "gw-1", secret: () => "" });
const opening = {
  will: { topic: "t", payload: "", qos: 1, retain: true },
  ignored: () => undefined,
  signal: new AbortController().signal,
} as const;

it("a broker that isn't there is told as such, and not as a file of this box", async () => {
  const port = (await freePort()).toString();
  const config: OutputConfig = { name: "plant", url: "", mqtt_version: "v5", max_records_per_s: 100 };
  for (const way of ["mqtt", "mqtts", "ws", "wss"])
    await expect(connect({ ...config, url: `${way}://127.0.0.1:${port}` }, opening)).rejects.toMatchObject({
      name: "ServiceLinkError",
      fault: "unreachable",
    });
  const ca_file = join(temporaryFolder(), "ca.pem");
  await expect(connect({ ...config, url: `mqtts://127.0.0.1:${port}`, ca_file }, opening)).rejects.toMatchObject({
    name: "Error",
    code: "ENOENT",
  });
});
