import { randomUUID } from "node:crypto";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import mqtt, { type MqttClient } from "mqtt";
import { hashOf } from "../wire/hash.ts";
import { ackShape, batchOf, helloOf, stateOf, TOPICS, type AckWire, type StateWire } from "../wire/telemetry.ts";
import type {
  BatchOutcome,
  BoothHeartbeat,
  Clock,
  LinkAccount,
  LinkSession,
  ServiceLink,
  ServiceTime,
} from "../ports.ts";
import type { Placed } from "../core/types/record.ts";

const CONNECT_TIMEOUT_MS = 10_000;
const KEEPALIVE_S = 30;
/** The service acks after its own commit; without an ack in this time the batch is sent again in a new session. */
const ACK_DEADLINE_MS = 15_000;
/** A publish that the broker doesn't confirm: the session is dead, whatever TCP says. */
const PUBLISH_DEADLINE_MS = 15_000;
const MAX_WINDOW = 4;
const gzipAsync = promisify(gzip);

interface Waiting {
  readonly stream: string;
  readonly s0: number;
  readonly n: number;
  readonly hash: string;
  /** Mono at which it was handed to the broker. */
  readonly sent: number;
  readonly settle: (outcome: BatchOutcome) => void;
}

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
    ...(parts.ca === undefined ? {} : { ca: parts.ca }),
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
    booths: beat.booths.map(({ stream, waiting_records, ...booth }) => ({
      stream_id: stream,
      ...booth,
      backlog: { records: waiting_records, oldest_time: null, hours_to_full: null },
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
    if (topic !== `${account.topic_prefix}/${TOPICS.ack}`) return;
    const ack = parseAck(payload);
    if (ack === null) return;
    window = Math.min(MAX_WINDOW, Math.max(1, ack.window));
    settle(parts, waiting, ack);
  });
  const publish = (topic: string, payload: string | Buffer, retain = false): Promise<void> =>
    publishOnce(client, { topic: `${account.topic_prefix}/${topic}`, payload, retain });
  await client.subscribeAsync(`${account.topic_prefix}/down/#`, { qos: 1 });
  return {
    closed,
    window: () => window,
    hello: (booths) =>
      publish(
        TOPICS.hello,
        JSON.stringify(
          helloOf(
            session,
            booths.map(({ stream, ...booth }) => ({ stream_id: stream, ...booth, predecessor: null })),
          ),
        ),
      ),
    heartbeat: (booths) =>
      publish(TOPICS.state, JSON.stringify(heartbeatOf(parts, { session, since, online: true, booths })), true),
    async send(stream, generation, records) {
      const wire = batchOf({ gateway_id: account.gateway_id, generation, stream }, records, parts.clock.wall());
      const body = await gzipAsync(JSON.stringify(wire));
      if (over) return { kind: "keep", reason: "the session is over" };
      return exchange({
        waiting,
        stream,
        records,
        sent: parts.clock.mono(),
        publish: () => publish(TOPICS.batch, body),
      });
    },
    async close() {
      await publish(
        TOPICS.state,
        JSON.stringify(heartbeatOf(parts, { session, since, online: false, booths: [] })),
        true,
      ).catch(() => undefined);
      await client.endAsync(over).catch(() => undefined);
    },
  };
}

interface Exchange {
  readonly waiting: Set<Waiting>;
  readonly stream: string;
  readonly records: readonly Placed[];
  readonly sent: number;
  readonly publish: () => Promise<void>;
}

/** Publishes and waits for the ack that names this very batch. */
function exchange({ waiting, stream, records, sent, publish }: Exchange): Promise<BatchOutcome> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => entry.settle({ kind: "keep", reason: "no ack in time" }), ACK_DEADLINE_MS);
    const entry: Waiting = {
      stream,
      s0: records[0]?.seq ?? 0,
      n: records.length,
      hash: hashOf(records),
      sent,
      settle(outcome) {
        clearTimeout(timer);
        waiting.delete(entry);
        resolve(outcome);
      },
    };
    waiting.add(entry);
    publish().catch((error: unknown) =>
      entry.settle({ kind: "keep", reason: error instanceof Error ? error.message : String(error) }),
    );
  });
}

function publishOnce(
  client: MqttClient,
  message: { topic: string; payload: string | Buffer; retain: boolean },
): Promise<void> {
  return new Promise((resolve, reject) => {
    // mqtt.js never settles a publish of a client that has ended.
    const timer = setTimeout(() => reject(new Error("the broker doesn't confirm")), PUBLISH_DEADLINE_MS);
    client.publish(message.topic, message.payload, { qos: 1, retain: message.retain }, (error) => {
      clearTimeout(timer);
      if (error) reject(error);
      else resolve();
    });
  });
}

function parseAck(payload: Buffer): AckWire | null {
  try {
    const parsed = ackShape.safeParse(JSON.parse(payload.toString("utf8")));
    return parsed.success ? parsed.data : null;
  } catch {
    // Something that isn't JSON under our ack topic acks nothing; the batch's deadline answers it.
    return null;
  }
}

/** An ack moves only the batch it names, and only where the service stored what was sent. */
function settle(parts: MqttLinkParts, waiting: ReadonlySet<Waiting>, ack: AckWire): void {
  for (const entry of waiting) {
    if (entry.stream !== ack.st || entry.s0 !== ack.s0 || entry.n !== ack.n) continue;
    if (ack.server_time !== null) {
      parts.service_time.heard({ time: ack.server_time, sent: entry.sent, received: parts.clock.mono() });
    }
    if (ack.conflict !== null) entry.settle({ kind: "conflict", seq: ack.conflict });
    else if (ack.hash === entry.hash || ack.reject.length > 0) entry.settle({ kind: "acked", rejected: ack.reject });
    else entry.settle({ kind: "keep", reason: "the service's ack has another hash than what was sent" });
  }
}
