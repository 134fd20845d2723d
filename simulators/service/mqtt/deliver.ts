import { setTimeout as sleep } from "node:timers/promises";
import type { FaultPlan } from "../faults/faults.ts";
import type { Service } from "../http/operation.ts";
import { parseMessage } from "../ingest/chunk-message.ts";
import type { Ack, ChunkAck } from "../ingest/store.ts";
import { unpack } from "../ingest/unpack.ts";
import type { Uplinks } from "../storage/port.ts";
import type { Downlink } from "../ingest/uplink.ts";

/** A gateway's uplink topics. The groups are the gateway and the message type. */
export const UP = /^bg\/v1\/([^/]+)\/up\/(state|hello|batch|chunk|result|digest)$/;

/** A broker, embedded or external, that carries messages in both directions. */
export interface RunningBroker {
  /** URL for gateways. */
  readonly url: string;
  /** Publishes on a gateway's down/ topic, QoS 1. */
  readonly send: (gateway: string, topic: "ack" | "cmd", message: unknown) => void;
  /** Ends a gateway's sessions, if the broker is the service's own. */
  readonly disconnect: (gateway: string) => void;
  /** Whether messages published at the broker arrive here now. */
  readonly joined: () => boolean;
  readonly stop: () => Promise<void>;
}

interface Delivering extends Pick<RunningBroker, "send" | "disconnect"> {
  readonly service: Service;
  readonly faults: FaultPlan;
  readonly uplinks: Uplinks<Downlink>;
}

export interface Published {
  readonly topic: string;
  readonly payload: string | Buffer;
}

/**
 * Delivers a published packet as an uplink message. Other packets (the broker's own, an ack to a gateway) are skipped.
 */
export async function deliver(packet: Published, delivering: Delivering): Promise<void> {
  const { service, faults, uplinks, send, disconnect } = delivering;
  const [, gateway, topic] = UP.exec(packet.topic) ?? [];
  if (gateway === undefined || topic === undefined) return;
  const before = faults.onTopic(`up/${topic}`, "before");
  if (before?.delay_ms !== undefined) await sleep(before.delay_ms);
  if (before?.reset) {
    disconnect(gateway);
    return;
  }
  const whole = Buffer.from(packet.payload);
  if (before?.swallow !== undefined && holds(topic, whole, before.swallow)) return;
  const payload = before?.cut === true ? whole.subarray(0, whole.length >> 1) : whole;
  const { ack, commands = [] } = await uplinks.take({ gateway, topic, payload, now: service.now() });
  const after = faults.onTopic(`up/${topic}`, "after");
  if (after?.reset) disconnect(gateway);
  const onAck = ack === undefined ? undefined : faults.onTopic("down/ack", "before");
  if (onAck?.delay_ms !== undefined) await sleep(onAck.delay_ms);
  const lost = [before, after, onAck].some((fault) => fault?.lose_ack);
  if (ack !== undefined && !lost) {
    const said = falsified(ack, onAck?.falsify ?? {});
    send(gateway, "ack", said);
    if (onAck?.double_ack === true) send(gateway, "ack", said);
  }
  for (const command of commands) send(gateway, "cmd", command);
}

function falsified(ack: Ack | ChunkAck, fields: Readonly<Record<string, unknown>>): unknown {
  const all = Array.from({ length: ack.n }, (_, index) => ({ seq: ack.s0 + index, reason: "all" }));
  const meant = (value: unknown): unknown => (value === "first" ? ack.s0 : value === "all" ? all : value);
  const lies = Object.entries(fields).map(([name, value]) => [name, meant(value)]);
  return { ...ack, ...Object.fromEntries(lies) };
}

/** Whether a batch or a chunk has a record of that name; false for an unreadable payload. */
function holds(topic: string, payload: Buffer, name: string): boolean {
  if (topic === "chunk") {
    const message = parseMessage(payload);
    return "chunk" in message && message.chunk.series.some(({ tag }) => tag === name);
  }
  const unpacked = unpack(payload);
  if ("error" in unpacked) return false;
  const { tags } = unpacked.batch as { readonly tags?: unknown };
  return Array.isArray(tags) && tags.includes(name);
}
