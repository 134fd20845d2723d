import type { IPublishPacket, MqttClient } from "mqtt";
import { connectOnce, keepPoolSmall, typedError } from "../delivery/mqtt/dial.ts";
import { readCertificates, readCertificatePair } from "../credential-files.ts";
import { ServiceLinkError } from "../domain/link-error.ts";
import { say } from "../domain/sentences.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { BrokerSession, ConnectBroker, OutputMachine } from "./port.ts";
import type { Message } from "./port.ts";
import { monotonicMs } from "../monotonic.ts";

/** Messages under way at most: what a broker of a small machine keeps in memory for us. */
const WINDOW = 64;
/** From a message's sending to the broker's word that it has it. */
const CONFIRM_WITHIN_MS: Milliseconds = 15_000;
/** A connection that says nothing is looked at so often. */
const PING_MS: Milliseconds = 20_000;
const CLOSE_WITHIN_MS: Milliseconds = 1_000;
/** MQTT 5, 3.14.2.1. */
const DISCONNECT_WITH_WILL = 4;
/** Confirmations are a few bytes for each of our messages: a broker that sends more than this in a second keeps us from polls. */
const MOST_HEARD = { bytes: 1_048_576, packets: 20_000 };

/** By the machine's own timers: the broker lives in real time, whatever clock the box has. What it returns takes that back. */
function after(ms: Milliseconds, act: () => void): () => void {
  const timer = setTimeout(act, ms).unref();
  return () => clearTimeout(timer);
}

/** Files are read anew at each connection: a renewed certificate needs no restart. */
export function brokerConnector({
  gateway_id,
  secret,
  meter,
}: Pick<OutputMachine, "gateway_id" | "secret" | "meter">): ConnectBroker {
  return async (config, { will: { payload, ...will }, ignored, signal }) => {
    keepPoolSmall();
    const { user, password_file, ca_file, client_certificate_file: cert, client_key_file: key, mqtt_version } = config;
    const protocol = mqtt_version === "v5" ? 5 : 4;
    const connected = await connectOnce(
      {
        url: config.url,
        client_id: config.client_id ?? `booth-gateway-${gateway_id}-${config.name}`,
        ...(user === undefined ? {} : { username: user }),
        ...(password_file === undefined ? {} : { password: secret(password_file) }),
        ...(ca_file === undefined ? {} : { ca: readCertificates(ca_file) }),
        ...(cert === undefined || key === undefined ? {} : { certificate: readCertificatePair(cert, key) }),
        will: { ...will, payload: Buffer.from(payload) },
        protocol,
        // Ours tell what of QoS 0 got there, so nobody else may send any.
        own_pings: true,
        ...(meter === undefined ? {} : { counted: { meter, purposeOf: () => "outputs" as const } }),
      },
      signal,
    ).catch((error: unknown) => {
      throw typedError(error);
    });
    const window = Math.min(WINDOW, connected.receive_maximum);
    return sessionOf(connected.client, { window, protocol, ignored });
  };
}

/** `ignored`: told of each message on a topic that nobody here listens to. */
function sessionOf(
  client: MqttClient,
  { window, protocol, ignored }: { readonly window: number; readonly protocol: 4 | 5; readonly ignored: () => void },
): BrokerSession {
  const { end, ended, over } = endingOf(client);
  boundFlood(client, end);
  const listen = earsOf(client, ignored);
  const pings = pingsOf(client);
  const waiting = new Set<(reason: ServiceLinkError) => void>();
  void ended.then((reason) => waiting.forEach((fail) => fail(reason)));
  /** Settles with what `begin` brings, the session's end, or the deadline, which is one. */
  const within = (begin: (done: (error?: Error | null) => void) => void): Promise<void> =>
    new Promise((resolve, reject) => {
      const settle = (error?: Error | null): void => {
        cancel();
        waiting.delete(settle);
        if (error) reject(error);
        else resolve();
      };
      const late = (): void => end(new ServiceLinkError("no_ack", say("output.no_confirm")));
      const cancel = after(CONFIRM_WITHIN_MS, late);
      waiting.add(settle);
      const reason = over();
      if (reason === null) begin(settle);
      else settle(reason);
    });
  const sendSome = (some: readonly Message[]): Promise<void> =>
    within((done) => {
      let left = some.length;
      const one = (error?: Error | null): void => {
        left -= 1;
        if (error) done(typedError(error));
        else if (left === 0) done();
      };
      for (const { topic, payload, qos, retain } of some) {
        const bytes = typeof payload === "string" ? payload : Buffer.from(payload);
        client.publish(topic, bytes, { qos, retain }, qos === 0 ? undefined : one);
      }
      const unconfirmed = some.filter(({ qos }) => qos === 0).length;
      // The broker answers in order: with this one it has had all before it.
      if (unconfirmed > 0) pings.send(() => Array.from({ length: unconfirmed }).forEach(() => one()));
    });
  const beat = (): void => {
    if (over() !== null) return;
    within((done) => pings.send(done)).catch(() => undefined);
    next = after(PING_MS, beat);
  };
  let next = after(PING_MS, beat);
  void ended.then(() => next());
  const send = async (messages: readonly Message[]): Promise<void> => {
    // What isn't confirmed one by one keeps its order only where all of it is written at once.
    const at_once = messages.some(({ qos }) => qos === 0) ? messages.length : window;
    for (let at = 0; at < messages.length; at += at_once) await sendSome(messages.slice(at, at + at_once));
  };
  return {
    send,
    ended,
    subscribe: async (topic, heard) => {
      listen(topic, heard);
      await within((done) => client.subscribe(topic, { qos: 1 }, done));
    },
    async close(last) {
      const late = new Promise<void>((resolve) => void after(CLOSE_WITHIN_MS, resolve));
      await Promise.race([send(last).catch(() => undefined), late]);
      // Sparkplug asks for it (payloads-ndeath-will-message-publisher-disconnect-mqtt50); elsewhere the will says what was said anyway.
      client.end(false, protocol === 5 ? { reasonCode: DISCONNECT_WITH_WILL } : {});
      end(new ServiceLinkError("closed", "left"));
    },
  };
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

/** Each topic's own ear; what comes on another is told to `ignored`. */
function earsOf(client: MqttClient, ignored: () => void) {
  const ears = new Map<string, (payload: Uint8Array, retained: boolean) => void>();
  client.on("message", (topic: string, payload: Buffer, { retain }: IPublishPacket) => {
    const heard = ears.get(topic);
    if (heard === undefined) ignored();
    else heard(payload, retain);
  });
  return (topic: string, heard: (payload: Uint8Array, retained: boolean) => void): void => void ears.set(topic, heard);
}

/** Ends a session whose broker sends more than anybody here has asked for: small packets cost most. */
function boundFlood(client: MqttClient, end: (why: ServiceLinkError) => void): void {
  let [second, bytes, packets] = [0, 0, 0];
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
