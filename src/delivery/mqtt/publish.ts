import type { MqttClient } from "mqtt";
import { ServiceLinkError } from "../../domain/service-link-error.ts";
import type { BatchOutcome } from "../port.ts";

/** A publish that the broker doesn't confirm: the session is dead, whatever TCP says. */
const PUBLISH_DEADLINE_MS = 15_000;

/**
 * What is to be told of a session's end. A promise of the end that each publish were raced against would keep something of
 * all of them for as long as the session lasts.
 */
export type Endings = Set<(reason: ServiceLinkError) => void>;

export interface Message {
  readonly topic: string;
  readonly payload: string | Buffer;
  readonly retain: boolean;
}

/**
 * QoS 1. Resolves with the broker's PUBACK; rejects with what it says instead, after the deadline, or with the session's end,
 * after which mqtt.js never settles anything.
 */
export function publishOnce(client: MqttClient, { topic, payload, retain }: Message, endings: Endings): Promise<void> {
  return new Promise((resolve, reject) => {
    const finish = (settle: () => void): void => {
      clearTimeout(timer);
      endings.delete(end);
      settle();
    };
    const late = (): void => finish(() => reject(new Error("the broker doesn't confirm")));
    const timer = setTimeout(late, PUBLISH_DEADLINE_MS);
    const end = (reason: ServiceLinkError): void => finish(() => reject(reason));
    endings.add(end);
    client.publish(topic, payload, { qos: 1, retain }, (error) =>
      finish(error ? () => reject(refusalOf(error, topic)) : resolve),
    );
  });
}

/** Reason code of a PUBACK where the broker doesn't allow the topic (MQTT 5, 3.4.2.1). */
const NOT_AUTHORIZED = 135;

function refusalOf(error: Error, topic: string): Error {
  if (!("code" in error) || error.code !== NOT_AUTHORIZED) return error;
  return new ServiceLinkError("not_allowed", `the broker doesn't let us publish on ${topic}`, error);
}

/** Reason codes of a PUBACK that are about the message itself: packet too large, payload format invalid (MQTT 5, 3.4.2.1). */
const CONTENT_CODES: ReadonlySet<unknown> = new Set([149, 153]);

/** What a publish that failed means for the batch. */
export function brokerRefusal(error: unknown): Extract<BatchOutcome, { kind: "refused" | "keep" }> {
  const reason = error instanceof Error ? error.message : String(error);
  const isContent = error instanceof Error && "code" in error && CONTENT_CODES.has(error.code);
  return { kind: isContent ? "refused" : "keep", reason };
}
