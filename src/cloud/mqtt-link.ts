import { randomUUID } from "node:crypto";
import { withPublicRoots } from "./tls.ts";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import mqtt, { type MqttClient } from "mqtt";
import { commandSide } from "./commands.ts";
import { exchange, parseAck, settle, type Waiting } from "./acks.ts";
import { batchOf, helloOf, stateOf, TOPICS, type HelloWire, type StateWire } from "../wire/telemetry.ts";
import type {
  BatchOutcome,
  BoothHeartbeat,
  Clock,
  HelloBooth,
  LinkAccount,
  LinkSession,
  ServiceLink,
  ServiceTime,
} from "../ports.ts";

const CONNECT_TIMEOUT_MS = 10_000;
const KEEPALIVE_S = 30;
/** A publish that the broker doesn't confirm: the session is dead, whatever TCP says. */
const PUBLISH_DEADLINE_MS = 15_000;
/** Time for the last words of a session. */
const CLOSE_WITHIN_MS = 1_000;
const MAX_WINDOW = 4;
const gzipAsync = promisify(gzip);

export interface MqttLinkParts {
  readonly clock: Clock;
  readonly agentVersion: string;
  readonly service_time: ServiceTime;
  readonly ca?: string;
}

/**
 * Telemetry over MQTT. mqtt.js is used as a bare client: its reconnection, its queue and its store are off, since the log in
 * SQLite is the queue and the sync loop owns the retry. PUBACK proves nothing; only down/ack does.
 */
export function createMqttLink(parts: MqttLinkParts): ServiceLink {
  let version: ProtocolVersion = 5;
  return {
    async connect(account, signal) {
      refuseOpen(account.url);
      const session = randomUUID();
      const dial = { account, session, signal };
      const client = await connectOnce(parts, { ...dial, version }).catch((error: unknown) => {
        if (version === 4 || !isVersionRefused(error)) throw error;
        version = 4;
        return connectOnce(parts, { ...dial, version });
      });
      return sessionOf(parts, { client, account, session });
    },
  };
}

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** The broker's address comes from the service: without TLS the credential goes to this machine alone. */
function refuseOpen(url: string): void {
  const { protocol, hostname } = new URL(url);
  if (["mqtts:", "wss:"].includes(protocol) || LOOPBACK.test(hostname)) return;
  throw new Error(`the service names ${protocol}//${hostname} as its broker: without TLS nothing is sent there`);
}

/** MQTT 5, or 3.1.1 for brokers that know no other. */
type ProtocolVersion = 4 | 5;

/** How brokers of 3.1.1 and of 5 say that they don't speak the version asked for. */
const VERSION_REFUSED = new Set([1, 132]);

function isVersionRefused(error: unknown): boolean {
  return error instanceof Error && "code" in error && typeof error.code === "number" && VERSION_REFUSED.has(error.code);
}

interface Dial {
  readonly account: LinkAccount;
  readonly session: string;
  readonly signal: AbortSignal;
  readonly version: ProtocolVersion;
}

async function connectOnce(parts: MqttLinkParts, { account, session, signal, version }: Dial): Promise<MqttClient> {
  const client = mqtt.connect(account.url, {
    clientId: account.client_id,
    username: account.username,
    password: account.credential,
    protocolVersion: version,
    clean: true,
    keepalive: KEEPALIVE_S,
    connectTimeout: CONNECT_TIMEOUT_MS,
    reconnectPeriod: 0,
    queueQoSZero: false,
    resubscribe: false,
    rejectUnauthorized: true,
    ...(parts.ca === undefined ? {} : { ca: withPublicRoots(parts.ca) }),
    will: {
      topic: `${account.topic_prefix}/${TOPICS.state}`,
      payload: Buffer.from(
        JSON.stringify(heartbeatOf(parts, { session, since: parts.clock.wall(), online: false, booths: [] })),
      ),
      qos: 1,
      retain: true,
    },
  });
  const stop = (): void => void client.end(true);
  signal.addEventListener("abort", stop, { once: true });
  try {
    await new Promise<void>((resolve, reject) => {
      client.once("connect", () => resolve());
      client.once("error", reject);
      client.once("close", () => reject(new Error("the broker closed the connection, or can't be reached")));
    });
  } catch (error) {
    client.end(true);
    throw error;
  } finally {
    signal.removeEventListener("abort", stop);
  }
  return client;
}

interface Beat {
  readonly session: string;
  readonly since: number;
  readonly online: boolean;
  readonly booths: readonly BoothHeartbeat[];
}

function heartbeatOf(parts: MqttLinkParts, beat: Beat): StateWire {
  return stateOf({
    online: beat.online,
    session: beat.session,
    since: beat.since,
    agent_version: parts.agentVersion,
    clock: { offset_ms: parts.service_time.offset(), synced: parts.service_time.offset() !== null },
    links: { service: beat.online ? "up" : "down" },
    booths: beat.booths.map(({ stream, waiting_records, hours_to_full, ...booth }) => ({
      stream_id: stream,
      ...booth,
      backlog: { records: waiting_records, oldest_time: null, hours_to_full },
    })),
  });
}

interface Open {
  readonly client: MqttClient;
  readonly account: LinkAccount;
  readonly session: string;
}

async function sessionOf(parts: MqttLinkParts, { client, account, session }: Open): Promise<LinkSession> {
  const waiting = new Set<Waiting>();
  const since = parts.clock.wall();
  let window = 1;
  let over = false;
  const closed = new Promise<string>((resolve) => {
    const end = (reason: string) => (): void => {
      over = true;
      for (const entry of waiting) entry.settle({ kind: "keep", reason });
      resolve(reason);
    };
    client.on("close", end("the connection to the broker is gone"));
    client.on("disconnect", end("the broker ended the session"));
    client.on("error", (error: Error) => {
      end(error.message)();
      client.end(true);
    });
  });
  client.on("message", (topic, payload) => {
    if (topic === `${account.topic_prefix}/${TOPICS.command}`) commands.came(payload);
    if (topic !== `${account.topic_prefix}/${TOPICS.ack}`) return;
    const ack = parseAck(payload);
    if (ack === null) return;
    window = Math.min(MAX_WINDOW, Math.max(1, ack.window));
    settle(parts, waiting, ack);
  });
  // mqtt.js never settles a publish of a connection that is gone: whoever waits for one learns of the end here.
  const ended = closed.then((reason) => Promise.reject(new Error(reason)));
  ended.catch(() => undefined);
  const publish = (topic: string, payload: string | Buffer, retain = false): Promise<void> =>
    Promise.race([publishOnce(client, { topic: `${account.topic_prefix}/${topic}`, payload, retain }), ended]);
  const commands = commandSide(publish);
  await client.subscribeAsync(`${account.topic_prefix}/down/#`, { qos: 1 });
  return {
    closed,
    commands: (take) => commands.commands(take),
    say: (message) => commands.say(message),
    window: () => window,
    hello: (booths) => publish(TOPICS.hello, JSON.stringify(helloOf(session, booths.map(helloBoothOf)))),
    heartbeat: (booths) =>
      publish(TOPICS.state, JSON.stringify(heartbeatOf(parts, { session, since, online: true, booths })), true),
    async send(stream, generation, records) {
      const wire = batchOf({ gateway_id: account.gateway_id, generation, stream }, records, parts.clock.wall());
      const body = await gzipAsync(JSON.stringify(wire));
      if (over) return { kind: "keep", reason: "the session is over" };
      if (account.confirmed_by === "broker") return handedOver(publish(TOPICS.batch, body));
      return exchange({
        waiting,
        stream,
        records,
        sent: parts.clock.mono(),
        publish: () => publish(TOPICS.batch, body),
      });
    },
    async close() {
      const last = JSON.stringify(heartbeatOf(parts, { session, since, online: false, booths: [] }));
      // A broker that hangs must not hold a stop: the will says the same.
      const farewell = publish(TOPICS.state, last, true).then(() => client.endAsync(over));
      await Promise.race([farewell.catch(() => undefined), delay(CLOSE_WITHIN_MS, undefined, { ref: false })]);
      client.end(true);
    },
  };
}

/** The broker's word is all there is. */
async function handedOver(published: Promise<void>): Promise<BatchOutcome> {
  try {
    await published;
    return { kind: "acked", rejected: [], held_seq: 0 };
  } catch (error) {
    return { kind: "keep", reason: error instanceof Error ? error.message : String(error) };
  }
}

function helloBoothOf(booth: HelloBooth): HelloWire["booths"][number] {
  const { stream, serial, generation, oldest_seq, newest_seq, config_revision, predecessor } = booth;
  return { stream_id: stream, serial, generation, oldest_seq, newest_seq, config_revision, predecessor };
}

function publishOnce(
  client: MqttClient,
  message: { topic: string; payload: string | Buffer; retain: boolean },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("the broker doesn't confirm")), PUBLISH_DEADLINE_MS);
    client.publish(message.topic, message.payload, { qos: 1, retain: message.retain }, (error) => {
      clearTimeout(timer);
      if (error) reject(error);
      else resolve();
    });
  });
}
