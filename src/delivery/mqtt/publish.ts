import { message, type Text } from "../../domain/message.ts";
import type { MqttClient } from "mqtt";
import { ServiceLinkError } from "../../domain/link-error.ts";
import type { Milliseconds } from "../../domain/units.ts";
import { type Connected, typedError } from "./dial.ts";

/** Publishing within the broker's limits, and an orderly disconnect. Delivery, outputs and notices share this file. */

export interface BrokerMessage {
  readonly topic: string;
  readonly payload: string | Uint8Array;
  readonly qos: 0 | 1;
  readonly retain: boolean;
}

/** The reason why the broker doesn't accept a message, although the connection continues. `code`: the reason code of the PUBACK. */
export type Refusal =
  | { readonly kind: "too_long"; readonly topic: string; readonly bytes: number; readonly limit: number }
  | { readonly kind: "refused"; readonly topic: string; readonly code: number };

/** A message that the broker refuses, and would also refuse in another session. */
export class RefusedMessage extends ServiceLinkError {
  readonly refusal: Refusal;

  constructor(refusal: Refusal, cause?: unknown) {
    super(refusal.kind === "too_long" ? "limit" : "not_allowed", refusalText(refusal), cause);
    this.refusal = refusal;
  }
}

export function refusalText(refusal: Refusal): Text {
  const { topic } = refusal;
  return refusal.kind === "too_long"
    ? message("service.message_too_long", { topic, bytes: refusal.bytes, limit: refusal.limit })
    : message("service.refuses_topic", { topic });
}

/** Returns the exact size of a PUBLISH packet without properties, including its length field (MQTT 2.1.4). */
function publishBytes({ topic, payload, qos }: BrokerMessage, protocol: 4 | 5): number {
  const rest = 2 + Buffer.byteLength(topic) + (qos > 0 ? 2 : 0) + (protocol === 5 ? 1 : 0) + Buffer.byteLength(payload);
  const lengthField = [128, 16_384, 2_097_152].filter((limit) => rest >= limit).length + 1;
  return 1 + lengthField + rest;
}

/** Returns the message in a form that the broker accepts. Throws RefusedMessage if the message is longer than the broker's limit. */
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

/** Reason codes of a PUBACK that recur for the same topic: not authorized, topic name invalid (MQTT 5, 3.4.2.1). */
const REFUSED_TOPIC: readonly unknown[] = [0x87, 0x90];

/** Returns the error of a failed publish. A PUBACK's reason code concerns the topic or the message, never the credential. */
export function publishError(error: Error, topic: string): ServiceLinkError {
  if (!("code" in error) || typeof error.code !== "number") return typedError(error);
  const { code } = error;
  if (REFUSED_TOPIC.includes(code)) return new RefusedMessage({ kind: "refused", topic, code }, error);
  return new ServiceLinkError("closed", message("service.puback", { topic, code }), error);
}

/** Time after DISCONNECT until the connection is destroyed. It is short, because a broker that hangs must not delay a stop. */
const LINGER_MS: Milliseconds = 100;

/**
 * Sends DISCONNECT and closes the connection at once, even if PUBACKs are missing; mqtt.js would first wait for all of them. Without
 * `reason_code`, the broker discards the will.
 */
export function disconnect(client: MqttClient, reason_code?: number): void {
  for (const id of Object.keys(client.outgoing)) client.removeOutgoingMessage(Number(id));
  if (client.disconnecting) return;
  client.end(false, reason_code === undefined ? {} : { reasonCode: reason_code });
  setTimeout(() => client.stream.destroy(), LINGER_MS).unref();
}
