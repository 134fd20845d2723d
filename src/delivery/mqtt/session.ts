import type { IPublishPacket, MqttClient } from "mqtt";
import { ServiceLinkError } from "../../domain/link-error.ts";
import { say } from "../../domain/sentences.ts";
import type { Milliseconds } from "../../domain/units.ts";
import { monotonicMs } from "../../monotonic.ts";
import { type Connected, typedError } from "./dial.ts";
import {
  type BrokerMessage,
  leave,
  publishError,
  type Refusal,
  RefusedMessage,
  slots,
  withinLimits,
} from "./publish.ts";

/** A session with a broker of the site, for outputs and notices: confirmed messages within the broker's limits, and an orderly end. */

/** Messages under way at most: what a broker of a small machine keeps in memory for us. */
const WINDOW = 64;
/** From a message's sending to the broker's word that it has it. */
const CONFIRM_WITHIN_MS: Milliseconds = 15_000;
/** A connection that says nothing is looked at so often, or more often if the broker wants that. */
const PING_MS: Milliseconds = 20_000;
/** Last words of a session that ends. A stop of the agent has 500 ms for it, with what is under way. */
const CLOSE_WITHIN_MS: Milliseconds = 200;
/** Confirmations are a few bytes for each of our messages: a broker that sends more than this in a second keeps us from polls. */
const MOST_HEARD = { bytes: 1_048_576, packets: 20_000 };

interface SessionOptions {
  /** Called for each message on a topic without a subscription. */
  readonly ignored: () => void;
  /** Called for each message that the broker doesn't get while the session goes on. */
  readonly refused: (refusal: Refusal) => void;
  /** Reason code of the DISCONNECT; absent: 0, and the broker drops the will. */
  readonly end_code?: number | undefined;
}

/** By the machine's own timers: the broker lives in real time, whatever clock the box has. What it returns takes that back. */
function after(ms: Milliseconds, act: () => void): () => void {
  const timer = setTimeout(act, ms).unref();
  return () => clearTimeout(timer);
}

/** The connection must have been made with `own_pings`. */
export function brokerSession(connected: Connected, { ignored, refused, end_code }: SessionOptions) {
  const { client } = connected;
  const { end, ended, over } = endingOf(client);
  boundFlood(client, end);
  const listen = earsOf(client, ignored);
  const pings = pingsOf(client);
  const within = waitsOf({ end, ended, over });
  const ping = (): Promise<void> =>
    within((done) => {
      pings.send(done);
    });
  keepAlive(connected, { over, ended, ping });
  const slot = slots(Math.min(WINDOW, connected.receive_maximum));
  /** Returns the messages that the broker takes, as it takes them. */
  const fitting = (messages: readonly BrokerMessage[]): readonly BrokerMessage[] =>
    messages.flatMap((message) => {
      try {
        return [withinLimits(message, connected)];
      } catch (error) {
        skip(error);
        return [];
      }
    });
  const skip = (error: unknown): void => {
    if (!(error instanceof RefusedMessage)) throw error;
    refused(error.refusal);
  };
  const publish = ({ topic, payload, qos, retain }: BrokerMessage, done?: (error?: Error | null) => void): void => {
    const bytes = typeof payload === "string" ? payload : Buffer.from(payload);
    client.publish(topic, bytes, { qos, retain }, done);
  };
  const send = async (messages: readonly BrokerMessage[]): Promise<void> => {
    const confirmed = (message: BrokerMessage): Promise<void> =>
      within((done) => {
        publish(message, (error) => done(error ? publishError(error, message.topic) : null));
      });
    const sent: Promise<void>[] = [];
    const allowed = fitting(messages);
    for (const message of allowed) {
      if (message.qos === 0) publish(message);
      else sent.push(slot(() => confirmed(message)).catch(skip));
    }
    // The broker answers in order: with the answer to this ping it has had all messages of QoS 0 before it.
    if (sent.length < allowed.length) sent.push(ping());
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
      if (over() === null) leave(client, end_code);
      end(new ServiceLinkError("closed", "left"));
    },
  };
}

type Done = (error?: Error | null) => void;
type Ending = ReturnType<typeof endingOf>;

/** Returns a function that settles with what `begin` brings, with the session's end, or with the deadline, which ends the session. */
function waitsOf({ end, ended, over }: Ending): (begin: (done: Done) => void) => Promise<void> {
  const waiting = new Set<(reason: ServiceLinkError) => void>();
  void ended.then((reason) => waiting.forEach((fail) => fail(reason)));
  return (begin) =>
    new Promise((resolve, reject) => {
      const settle: Done = (error) => {
        cancel();
        waiting.delete(settle);
        // mqtt.js says of each unconfirmed message that the connection closed; the session knows why.
        if (error) reject(over() ?? typedError(error));
        else resolve();
      };
      const late = (): void => end(new ServiceLinkError("no_ack", say("output.no_confirm")));
      const cancel = after(CONFIRM_WITHIN_MS, late);
      waiting.add(settle);
      const reason = over();
      if (reason === null) begin(settle);
      else settle(reason);
    });
}

interface KeptAlive extends Pick<Ending, "over" | "ended"> {
  readonly ping: () => Promise<void>;
}

/** Returns the time between two pings: the broker hears from us at least twice in the time that it allows. 0: it allows any. */
export function pingEveryMs(keep_alive_s: number): Milliseconds {
  return keep_alive_s === 0 ? PING_MS : Math.min(PING_MS, (keep_alive_s * 1_000) / 2);
}

/** Pings until the session's end. */
function keepAlive({ keep_alive_s }: Connected, { over, ended, ping }: KeptAlive): void {
  const every_ms = pingEveryMs(keep_alive_s);
  const beat = (): void => {
    if (over() !== null) return;
    ping().catch(() => undefined); // the session's end tells why
    next = after(every_ms, beat);
  };
  let next = after(every_ms, beat);
  void ended.then(() => next());
}

/** How a session ends: by the broker, by an error, or by us. */
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
    end(typedError(Object.assign(new Error(say("service.ended", { code: String(reasonCode) })), { code: reasonCode }))),
  );
  client.on("close", () => end(new ServiceLinkError("closed", say("output.closed"))));
  return { end, ended, over: () => reason };
}

type Heard = (payload: Uint8Array, retained: boolean, on: string) => void;

/** Hands each message to the subscription of its topic, or of all topics of its level; calls `ignored` if there is none. */
function earsOf(client: MqttClient, ignored: () => void) {
  const ears = new Map<string, Heard>();
  client.on("message", (topic: string, payload: Buffer, { retain }: IPublishPacket) => {
    const heard = ears.get(topic) ?? ears.get(topic.replace(/[^/]*$/, "+"));
    if (heard === undefined) ignored();
    else heard(payload, retain, topic);
  });
  return (topic: string, heard: Heard): void => void ears.set(topic, heard);
}

/** Ends a session whose broker sends more than anybody here has asked for: small packets cost most. */
function boundFlood(client: MqttClient, end: (why: ServiceLinkError) => void): void {
  let second = 0;
  let bytes = 0;
  let packets = 0;
  const heard = (more: { readonly bytes: number; readonly packets: number }): void => {
    const now = Math.floor(monotonicMs() / 1_000);
    if (now !== second) [second, bytes, packets] = [now, 0, 0];
    bytes += more.bytes;
    packets += more.packets;
    if (bytes > MOST_HEARD.bytes || packets > MOST_HEARD.packets)
      end(new ServiceLinkError("protocol", say("service.floods")));
  };
  client.stream.on("data", (chunk: Buffer) => heard({ bytes: chunk.length, packets: 0 }));
  client.on("packetreceive", () => heard({ bytes: 0, packets: 1 }));
}

/** Pings of our own, each told when its answer came: a broker answers them in order. */
function pingsOf(client: MqttClient) {
  const sent: (() => void)[] = [];
  client.on("packetreceive", ({ cmd }) => {
    if (cmd === "pingresp") sent.shift()?.();
  });
  return {
    send(answered: () => void): void {
      sent.push(() => answered());
      client.sendPing();
    },
  };
}
