import type { MqttClient } from "mqtt";
import { ServiceLinkError } from "../../domain/link-error.ts";
import { say } from "../../domain/sentences.ts";
import type { Milliseconds } from "../../domain/units.ts";
import { type Connected, typedError } from "./dial.ts";

/** Publishing within the broker's limits, and an orderly end: shared by delivery, outputs and notices. */

export interface BrokerMessage {
  readonly topic: string;
  readonly payload: string | Uint8Array;
  readonly qos: 0 | 1;
  readonly retain: boolean;
}

/** Why the broker doesn't get one message while the connection stands. `code`: the reason code of the PUBACK. */
export type Refusal =
  | { readonly kind: "too_long"; readonly topic: string; readonly bytes: number; readonly limit: number }
  | { readonly kind: "refused"; readonly topic: string; readonly code: number };

/** The broker doesn't get one message, and would not get it in another session either. */
export class RefusedMessage extends ServiceLinkError {
  readonly refusal: Refusal;

  constructor(refusal: Refusal, cause?: unknown) {
    super(refusal.kind === "too_long" ? "limit" : "not_allowed", refusalText(refusal), cause);
    this.refusal = refusal;
  }
}

export function refusalText(refusal: Refusal): string {
  const { topic } = refusal;
  return refusal.kind === "too_long"
    ? say("service.message_too_long", { topic, bytes: refusal.bytes, limit: refusal.limit })
    : say("service.refuses_topic", { topic });
}

/** Bytes of the length field of a packet that has so many bytes after it (MQTT 2.1.4). */
function lengthFieldBytes(bytes: number): number {
  return bytes < 128 ? 1 : bytes < 16_384 ? 2 : bytes < 2_097_152 ? 3 : 4;
}

/** Returns the exact size of a PUBLISH packet without properties. */
export function publishBytes({ topic, payload, qos }: Omit<BrokerMessage, "retain">, protocol: 4 | 5): number {
  const rest = 2 + Buffer.byteLength(topic) + (qos > 0 ? 2 : 0) + (protocol === 5 ? 1 : 0) + Buffer.byteLength(payload);
  return 1 + lengthFieldBytes(rest) + rest;
}

/** Returns the message as the broker takes it, or throws RefusedMessage if it is longer than the broker takes. */
export function withinLimits(message: BrokerMessage, limits: Omit<Connected, "client">): BrokerMessage {
  const { protocol, maximum_qos, maximum_packet_size: limit, retain_available } = limits;
  const allowed: BrokerMessage = {
    ...message,
    qos: maximum_qos === 0 ? 0 : message.qos,
    retain: message.retain && retain_available,
  };
  const bytes = publishBytes(allowed, protocol);
  if (bytes > limit) throw new RefusedMessage({ kind: "too_long", topic: message.topic, bytes, limit });
  return allowed;
}

/** Reason codes of a PUBACK that will come again for the same topic: not authorized, topic name invalid (MQTT 5, 3.4.2.1). */
const REFUSED_TOPIC: readonly unknown[] = [0x87, 0x90];

/** What a publish failed with. A reason code of a PUBACK is about the topic or the message, never about user and password. */
export function publishError(error: Error, topic: string): ServiceLinkError {
  if (!("code" in error) || typeof error.code !== "number") return typedError(error);
  const { code } = error;
  if (REFUSED_TOPIC.includes(code)) return new RefusedMessage({ kind: "refused", topic, code }, error);
  return new ServiceLinkError("closed", say("service.puback", { topic, code }), error);
}

/** What is left of a connection after DISCONNECT is destroyed after this: a broker that hangs must not hold a stop. */
const LINGER_MS: Milliseconds = 100;

/**
 * Sends DISCONNECT at once, whatever the broker still has to confirm, and closes the connection. mqtt.js would wait for all PUBACKs first.
 * Without `reason_code` the broker drops the will.
 */
export function leave(client: MqttClient, reason_code?: number): void {
  for (const id of Object.keys(client.outgoing)) client.removeOutgoingMessage(Number(id));
  if (client.disconnecting) return;
  client.end(false, reason_code === undefined ? {} : { reasonCode: reason_code });
  setTimeout(() => client.stream.destroy(), LINGER_MS).unref();
}

/** Lets so many act at once, the others in the order in which they came. */
export function slots(most: number): <T>(act: () => Promise<T>) => Promise<T> {
  const queue: (() => void)[] = [];
  let free = most;
  return async (act) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => queue.push(resolve));
    try {
      return await act();
    } finally {
      const next = queue.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}
