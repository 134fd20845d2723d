import { message } from "../../domain/message.ts";
import { MessageError } from "../../domain/messages/message-error.ts";
import type { IPublishPacket, MqttClient } from "mqtt";
import { ServiceLinkError } from "../../domain/link-error.ts";
import type { Milliseconds } from "../../domain/units.ts";
import { monotonicMs } from "../../monotonic.ts";
import { limitConcurrency } from "../line.ts";
import { type Connected, typedError } from "./dial.ts";
import { type BrokerMessage, disconnect, publishError, type Refusal, RefusedMessage, withinLimits } from "./publish.ts";

/** A session with a broker of the site, for outputs and notices: confirmed messages within the broker's limits, and an orderly end. */

/** Maximum number of pending messages. A broker on a small machine keeps them in memory. */
const WINDOW = 64;
/** Deadline of the broker's confirmation of a message. */
const CONFIRM_WITHIN_MS: Milliseconds = 15_000;
/** Time between two pings. It is shorter if the broker demands that. */
const PING_MS: Milliseconds = 20_000;
/** Time for the last messages of a session. A stop of the agent has 500 ms for these messages and all other work. */
const CLOSE_WITHIN_MS: Milliseconds = 200;
/** Maximum traffic from the broker per second. Confirmations have only a few bytes each; a flood of packets would delay polls. */
const MOST_RECEIVED = { bytes: 1_048_576, packets: 20_000 };

interface SessionOptions {
  /** Called for each message on a topic without a subscription. */
  readonly ignored: () => void;
  /** Called for each message that the broker refuses while the session continues. */
  readonly refused: (refusal: Refusal) => void;
  /** Reason code of the DISCONNECT. Absent: 0, and the broker discards the will. */
  readonly end_code?: number | undefined;
}

/** Runs `action` after a time, measured by real timers because the broker answers in real time. Returns a function that cancels it. */
function after(ms: Milliseconds, action: () => void): () => void {
  const timer = setTimeout(action, ms).unref();
  return () => clearTimeout(timer);
}

/** Starts a session on a connection that was made with `own_pings`. */
export function brokerSession(connected: Connected, { ignored, refused, end_code }: SessionOptions) {
  const { client } = connected;
  const ending = endingOf(client);
  const { end, ended, over } = ending;
  boundFlood(client, end);
  const listen = subscriptionsOf(client, ignored);
  const sendPing = pingsOf(client);
  const within = waitsOf(ending);
  const ping = (): Promise<void> => within(sendPing);
  keepAlive(connected, ending, ping);
  const limited = limitConcurrency(Math.min(WINDOW, connected.receive_maximum));
  const skip = (error: unknown): void => {
    if (!(error instanceof RefusedMessage)) throw error;
    refused(error.refusal);
  };
  const publish = ({ topic, payload, qos, retain }: BrokerMessage, done?: Done): void => {
    const bytes = typeof payload === "string" ? payload : Buffer.from(payload);
    client.publish(topic, bytes, { qos, retain }, done);
  };
  const confirmed = (message: BrokerMessage): Promise<void> =>
    within((done) => publish(message, (error) => done(error ? publishError(error, message.topic) : null)));
  const send = async (messages: readonly BrokerMessage[]): Promise<void> => {
    const sent: Promise<void>[] = [];
    let isUnconfirmed = false;
    for (const message of messages) {
      try {
        const allowed = withinLimits(message, connected);
        if (allowed.qos === 1) sent.push(limited(() => confirmed(allowed)).catch(skip));
        else {
          publish(allowed);
          isUnconfirmed = true;
        }
      } catch (error) {
        skip(error);
      }
    }
    // Sends a ping after messages of QoS 0. The broker answers in order, so its answer to this ping confirms all earlier messages.
    if (isUnconfirmed) sent.push(ping());
    await Promise.all(sent);
  };
  return {
    send,
    ended,
    async subscribe(topic: string, heard: Heard): Promise<void> {
      listen(topic, heard);
      await within((done) => client.subscribe(topic, { qos: 1 }, done));
    },
    async close(last: readonly BrokerMessage[]): Promise<void> {
      const late = new Promise<void>((resolve) => void after(CLOSE_WITHIN_MS, resolve));
      if (over() === null && last.length > 0) await Promise.race([send(last).catch(() => undefined), late]);
      if (over() === null) disconnect(client, end_code);
      end(new ServiceLinkError("closed", "left"));
    },
  };
}

type Done = (error?: Error | null) => void;
type Ending = ReturnType<typeof endingOf>;

/**
 * Returns a function that starts `begin` and waits for its result. It also settles at the session's end, or at the deadline, which ends the
 * session.
 */
function waitsOf({ end, ended, over }: Ending): (begin: (done: Done) => void) => Promise<void> {
  const waiting = new Set<Done>();
  void ended.then((reason) => waiting.forEach((fail) => fail(reason)));
  return (begin) =>
    new Promise((resolve, reject) => {
      const settle: Done = (error) => {
        cancel();
        waiting.delete(settle);
        // Prefers the session's reason, because mqtt.js reports only that the connection closed, for each unconfirmed message.
        if (error) reject(over() ?? typedError(error));
        else resolve();
      };
      const late = (): void => end(new ServiceLinkError("no_ack", message("output.no_confirm")));
      const cancel = after(CONFIRM_WITHIN_MS, late);
      waiting.add(settle);
      const reason = over();
      if (reason === null) begin(settle);
      else settle(reason);
    });
}

/** Returns the time between two pings, so that at least two pings fall within the broker's limit. A limit of 0 means no limit. */
export function pingEveryMs(keep_alive_s: number): Milliseconds {
  return keep_alive_s === 0 ? PING_MS : Math.min(PING_MS, (keep_alive_s * 1_000) / 2);
}

/** Sends pings until the session's end. */
function keepAlive({ keep_alive_s }: Connected, { over, ended }: Ending, ping: () => Promise<void>): void {
  const every_ms = pingEveryMs(keep_alive_s);
  const beat = (): void => {
    if (over() !== null) return;
    ping().catch(() => undefined); // the session's end has the reason
    cancel = after(every_ms, beat);
  };
  let cancel = after(every_ms, beat);
  void ended.then(() => cancel());
}

/** Follows a session until its end, which the broker, an error or the gateway can cause. */
function endingOf(client: MqttClient) {
  const { promise: ended, resolve } = Promise.withResolvers<ServiceLinkError>();
  let reason: ServiceLinkError | null = null;
  const end = (why: ServiceLinkError): void => {
    reason ??= why;
    resolve(reason);
    if (!client.disconnecting) client.end(true);
  };
  client.on("error", (error) => end(typedError(error)));
  client.on("disconnect", ({ reasonCode = 0 }) =>
    end(
      typedError(
        Object.assign(new MessageError(message("service.ended", { code: String(reasonCode) })), { code: reasonCode }),
      ),
    ),
  );
  client.on("close", () => end(new ServiceLinkError("closed", message("output.closed"))));
  return { end, ended, over: () => reason };
}

type Heard = (payload: Uint8Array, retained: boolean, on: string) => void;

/**
 * Passes each message to the subscription of its topic, or else to the subscription whose last level is "+". Without a subscription, calls
 * `ignored`.
 */
function subscriptionsOf(client: MqttClient, ignored: () => void) {
  const subscriptions = new Map<string, Heard>();
  client.on("message", (topic: string, payload: Buffer, { retain }: IPublishPacket) => {
    const heard = subscriptions.get(topic) ?? subscriptions.get(topic.replace(/[^/]*$/, "+"));
    if (heard === undefined) ignored();
    else heard(payload, retain, topic);
  });
  return (topic: string, heard: Heard): void => void subscriptions.set(topic, heard);
}

/** Ends a session if the broker sends more than the gateway can have requested. Small packets cost the most CPU time. */
function boundFlood(client: MqttClient, end: (why: ServiceLinkError) => void): void {
  let second = 0;
  let received = { bytes: 0, packets: 0 };
  const count = (bytes: number, packets: number): void => {
    const now = Math.floor(monotonicMs() / 1_000);
    if (now !== second) received = { bytes: 0, packets: 0 };
    second = now;
    received.bytes += bytes;
    received.packets += packets;
    if (received.bytes > MOST_RECEIVED.bytes || received.packets > MOST_RECEIVED.packets)
      end(new ServiceLinkError("protocol", message("service.floods")));
  };
  client.stream.on("data", (chunk: Buffer) => count(chunk.length, 0));
  client.on("packetreceive", () => count(0, 1));
}

/** Returns a function that sends a ping and calls `answered` when the broker answers it. A broker answers pings in order. */
function pingsOf(client: MqttClient): (answered: () => void) => void {
  const sent: (() => void)[] = [];
  client.on("packetreceive", ({ cmd }) => {
    if (cmd === "pingresp") sent.shift()?.();
  });
  return (answered) => {
    sent.push(answered);
    client.sendPing();
  };
}
