import mqtt from "mqtt";
import type { FaultPlan } from "../admin/faults.ts";
import type { Service } from "../http/operation.ts";
import type { Uplinks } from "../storage/port.ts";
import type { Downlink } from "./uplink.ts";
import { deliver, type RunningBroker } from "./deliver.ts";

const CONNECT_MS = 10_000;
const RECONNECT_MS = 1000;

export interface ExternalOptions {
  readonly service: Service;
  readonly faults: FaultPlan;
  readonly uplinks: Uplinks<Downlink>;
  /** mqtt:, mqtts:, ws: or wss:, with the service's user name; never with a password. */
  readonly url: string;
  readonly password?: string | undefined;
  readonly log?: ((line: string) => void) | undefined;
}

/**
 * Serves gateways through a broker that is there already. Who may publish on which topic is that broker's business: a gateway
 * must be held to bg/v1/{its user name}/. Rejects where it can't be reached; reconnects later on.
 */
export async function joinBroker({
  service,
  faults,
  uplinks,
  url,
  password,
  log,
}: ExternalOptions): Promise<RunningBroker> {
  const client = await mqtt.connectAsync(
    url,
    { connectTimeout: CONNECT_MS, reconnectPeriod: RECONNECT_MS, ...(password === undefined ? {} : { password }) },
    false,
  );
  let joined = false;
  client.on("packetreceive", ({ cmd }) => {
    if (cmd === "suback") joined = true;
  });
  client.on("close", () => (joined = false));
  client.on("error", (error) => log?.(`broker: ${error.message}`));
  const failed = (error: unknown): void => log?.(`uplink failed: ${String(error)}`);
  const send: RunningBroker["send"] = (gateway, topic, message) => {
    client.publishAsync(`bg/v1/${gateway}/down/${topic}`, JSON.stringify(message), { qos: 1 }).catch(failed);
  };
  const disconnect = (): void => undefined;
  client.on("message", (topic, payload) => {
    deliver({ topic, payload }, { service, faults, uplinks, send, disconnect }).catch(failed);
  });
  // After a lost connection the library subscribes again; what was published meanwhile is sent again for want of an ack.
  await client.subscribeAsync("bg/v1/+/up/+", { qos: 1 });
  const shown = new URL(url);
  shown.username = "";
  return { url: shown.href, send, disconnect, joined: () => joined, stop: () => client.endAsync(true) };
}
