import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import mqtt, { type IPublishPacket, type MqttClient } from "mqtt";
import type { FaultPlan } from "../faults/faults.ts";
import type { Service } from "../http/operation.ts";
import type { Uplinks } from "../storage/port.ts";
import { deliver, type RunningBroker } from "./deliver.ts";
import type { Downlink } from "../ingest/uplink.ts";
import { errorMessage } from "../../../src/domain/error-message.ts";

const CONNECT_MS = 10_000;
const RECONNECT_MS = 1000;
/**
 * Maximum number of unconfirmed messages; the broker queues the others. A message that waits longer than the gateway's
 * ack timeout is resent and costs more, so a long queue prolongs an overload.
 */
const RECEIVE_MAXIMUM = 400;
/**
 * Timeout of the probe, a message to the service itself. It normally arrives within milliseconds. If a busy broker is
 * slower, the wrong result costs work, not data.
 */
const PROBE_MS = 3_000;
/** Pause before a message is offered again to an unreachable store. The broker sends no further messages meanwhile. */
const AGAIN_MS = 500;
/**
 * The gateway's own timeout, after which it resends the message. The message is then confirmed to the broker, so that
 * the broker can send others.
 */
const GIVEN_UP_MS = 60_000;
/** Number of checks for the binding of a stream, because another worker may be storing the gateway's hello. */
const BOUND_TRIES = 8;
const BOUND_AGAIN_MS = 250;
/** Time limit for pending messages when the service stops. */
const DRAIN_MS = 10_000;

/** Workers with this group name share the messages: each message is delivered to one of them. */
const SHARED = "$share/ingest/";
const UPLINKS = "bg/v1/+/up/+";

interface ExternalOptions {
  readonly service: Service;
  readonly faults: FaultPlan;
  readonly uplinks: Uplinks<Downlink>;
  /** URL with mqtt:, mqtts:, ws: or wss: and the service's user name, never with a password. */
  readonly url: string;
  readonly password?: string | undefined;
  /**
   * Other workers share the messages of this broker. If the broker doesn't support that, each worker gets all messages.
   */
  readonly isShared?: boolean;
  readonly log?: ((line: string) => void) | undefined;
}

/**
 * Serves gateways through an existing broker. That broker must allow a gateway to publish only under bg/v1/{its user
 * name}/. A message is confirmed to the broker once its content is committed and its ack is sent, so that the broker
 * sends no more than the service can handle. Rejects if the broker can't be reached at first; reconnects later.
 */
async function joinBroker(options: ExternalOptions): Promise<RunningBroker> {
  const { url, log, isShared = false } = options;
  const client = await connected(options);
  const line: Line = {
    ...options,
    client,
    joined: false,
    stopping: false,
    under_way: new Set<Promise<void>>(),
    uplinks: isShared ? patient(options.uplinks) : options.uplinks,
  };
  client.handleMessage = (packet, done) => {
    hold(line, packet);
    // On an error the library continues with the next packet and leaves the confirmation of this one to us.
    done(new Error("confirmed once it is committed"));
  };
  client.on("packetreceive", ({ cmd }) => {
    if (cmd === "suback") line.joined = true;
  });
  client.on("close", () => (line.joined = false));
  client.on("error", (error) => log?.(`broker: ${error.message}`));
  const way = isShared && (await sharesMessages(client)) ? "shared" : "plain";
  if (isShared && way === "plain")
    log?.(`broker ${shownUrl(url)} shares no messages among workers: each gets all of them`);
  // After a lost connection the library subscribes again. Messages published meanwhile are resent because they got no
  // ack.
  await client.subscribeAsync(way === "shared" ? `${SHARED}${UPLINKS}` : UPLINKS, { qos: 1 });
  return {
    url: shownUrl(url),
    send: sender(line),
    disconnect: () => undefined,
    joined: () => line.joined,
    stop: () => stop(line),
  };
}

interface Line extends ExternalOptions {
  readonly client: MqttClient;
  joined: boolean;
  stopping: boolean;
  readonly under_way: Set<Promise<void>>;
}

/** Connects with MQTT 5, which can limit unconfirmed messages, or with 3.1.1 if the broker refuses 5. */
async function connected({ url, password }: ExternalOptions): Promise<MqttClient> {
  const usual = {
    connectTimeout: CONNECT_MS,
    reconnectPeriod: RECONNECT_MS,
    clean: true,
    writeCache: false,
    ...(password === undefined ? {} : { password }),
  };
  const properties = { receiveMaximum: RECEIVE_MAXIMUM };
  try {
    return await mqtt.connectAsync(url, { ...usual, protocolVersion: 5, properties }, false);
  } catch {
    return mqtt.connectAsync(url, { ...usual, protocolVersion: 4 }, false);
  }
}

function shownUrl(url: string): string {
  const shown = new URL(url);
  shown.username = "";
  return shown.href;
}

/**
 * Checks a shared subscription with a message to itself, because some brokers accept one and deliver nothing through
 * it.
 */
async function sharesMessages(client: MqttClient): Promise<boolean> {
  const name = randomUUID();
  const topic = `bg/v1/${name}/up/probe`;
  const came = new Promise<boolean>((resolve) => {
    client.on("message", function heard(on) {
      if (on !== topic) return;
      client.off("message", heard);
      resolve(true);
    });
  });
  const filter = `$share/${name}/${topic}`;
  try {
    const granted = await client.subscribeAsync(filter, { qos: 1 });
    if (granted.some(({ qos }) => qos >= 128)) return false;
    await client.publishAsync(topic, "", { qos: 1 });
    return await Promise.race([came, sleep(PROBE_MS, false, { ref: false })]);
  } catch {
    // The broker refused the subscription or closed the connection.
    return false;
  } finally {
    if (client.connected) await client.unsubscribeAsync(filter).catch(() => undefined);
  }
}

/** Processes a message and then confirms it to the broker. */
function hold(line: Line, packet: IPublishPacket): void {
  const { stream } = line.client;
  const whole = take(line, packet).then((isDone) => {
    const { qos, messageId = 0 } = packet;
    if (!isDone || qos === 0 || stream.destroyed || stream !== line.client.stream) return;
    // PUBACK of MQTT 3.1.1 and, as success, of 5: type 4, two bytes, the packet's own number.
    stream.write(Buffer.from([0x40, 2, messageId >> 8, messageId & 0xff]));
  });
  line.under_way.add(whole);
  void whole.then(() => line.under_way.delete(whole));
}

/**
 * Takes a message. Returns whether to confirm it to the broker: it is committed and its answer is sent, or the
 * timeout has passed. Only the gateway knows whether the answer arrived.
 */
async function take(line: Line, { topic, payload }: IPublishPacket): Promise<boolean> {
  const { service, faults, uplinks, log } = line;
  const around = { service, faults, uplinks, send: sender(line), disconnect: () => undefined };
  const until = performance.now() + GIVEN_UP_MS;
  for (let tries = 0; !line.stopping; tries += 1) {
    try {
      await deliver({ topic, payload }, around);
      return true;
    } catch (error) {
      if (tries === 0) log?.(`uplink failed, and is tried again: ${String(error)}`);
      if (performance.now() > until) return true;
      await sleep(AGAIN_MS);
    }
  }
  return false;
}

/**
 * Retries messages of an unbound stream: workers that share a broker's messages may get a gateway's hello after the
 * messages that follow it.
 */
function patient(uplinks: Uplinks<Downlink>): Uplinks<Downlink> {
  return {
    ...uplinks,
    async take(uplink) {
      for (let tries = 1; ; tries += 1) {
        const downlink = await uplinks.take(uplink);
        if (downlink.ack?.error !== "not_bound" || tries === BOUND_TRIES) return downlink;
        await sleep(BOUND_AGAIN_MS);
      }
    },
  };
}

function sender({ client, log }: Pick<Line, "client" | "log">): RunningBroker["send"] {
  return (gateway, topic, message) => {
    // After a lost connection the answer is dropped: the gateway asks again on its next one.
    if (!client.connected) return;
    client.publish(`bg/v1/${gateway}/down/${topic}`, JSON.stringify(message), { qos: 1 }, (error) => {
      if (error) log?.(`publish failed: ${error.message}`);
    });
  };
}

/** Finishes the work under way before it stops, so that every commit is acked. */
async function stop(line: Line): Promise<void> {
  const { client, under_way } = line;
  if (client.connected) await client.unsubscribeAsync([UPLINKS, `${SHARED}${UPLINKS}`]).catch(() => undefined);
  const late = sleep(DRAIN_MS, "late", { ref: false });
  // Messages that the broker had queued for us still arrive.
  while (under_way.size > 0 && (await Promise.race([Promise.all(under_way), late])) !== "late");
  line.stopping = true;
  await client.endAsync(!client.connected);
}

/**
 * Joins several brokers; each message is answered over the broker it came from. Rejects if none can be reached; joins
 * the others when they become reachable.
 */
export async function joinBrokers(
  urls: readonly string[],
  options: Omit<ExternalOptions, "url">,
): Promise<RunningBroker> {
  const brokers: RunningBroker[] = [];
  const stopping = new AbortController();
  const join = async (url: string): Promise<void> => {
    for (;;) {
      try {
        const broker = await joinBroker({ ...options, url });
        if (stopping.signal.aborted) await broker.stop();
        else brokers.push(broker);
        return;
      } catch (error) {
        options.log?.(`broker ${shownUrl(url)} can't be reached: ${errorMessage(error)}`);
        await sleep(RECONNECT_MS, undefined, { signal: stopping.signal });
      }
    }
  };
  const [first, ...others] = urls;
  if (first === undefined) throw new Error("no broker is named");
  if (others.length === 0) brokers.push(await joinBroker({ ...options, url: first }));
  else {
    const joining = urls.map((url) => join(url));
    for (const one of joining) one.catch(() => undefined);
    await Promise.race([...joining, sleep(CONNECT_MS, undefined, { ref: false })]);
    if (brokers.length === 0) {
      stopping.abort();
      throw new Error(`none of ${urls.map(shownUrl).join(", ")} can be reached`);
    }
  }
  return {
    url: urls.map(shownUrl).join(" "),
    // The broker of the gateway's connection is unknown; on the others the message has no subscriber.
    send: (gateway, topic, message) => {
      for (const broker of brokers) broker.send(gateway, topic, message);
    },
    disconnect: () => undefined,
    joined: () => brokers.some((broker) => broker.joined()),
    async stop() {
      stopping.abort();
      await Promise.all(brokers.map((broker) => broker.stop()));
    },
  };
}
