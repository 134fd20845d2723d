import { deflateRawSync } from "node:zlib";
import { createServiceTime } from "../../src/acquisition/clock.ts";
import {
  type Acking,
  chunkOutcomeOf,
  commandSide,
  createExchange,
  handleAck,
  outcomeOf,
  type PendingAck,
} from "../../src/delivery/mqtt/link.ts";
import { ServiceLinkError } from "../../src/domain/link-error.ts";
import type { BatchOutcome, LinkSession, ServiceLink } from "../../src/delivery/port.ts";
import type { Clock } from "../../src/domain/machine.ts";
import { createWaiters } from "../../src/domain/waiters.ts";
import { chunkMessage, factLines } from "../../src/contract/chunk.ts";
import { sha256 } from "../../src/contract/hash.ts";
import { batchOf, type BoothHeartbeat, type HelloBooth, TAKES } from "../../src/contract/telemetry.ts";
import { type Db, row } from "../../simulators/service/storage/db.ts";
import { ingestBatch, ingestChunk, type Ack, type ChunkAck } from "../../simulators/service/ingest/store.ts";
import { callerOfKey, hashOf } from "../../simulators/service/accounts/keys.ts";
import { takeMessage } from "../../simulators/service/ingest/uplink.ts";
import type { HttpRequest } from "../../src/delivery/http/client.ts";
import type { ServiceTime, TimeSource } from "../../src/domain/service-time.ts";

/** The deadline of the gateway's real link. */
const ACK_DEADLINE_MS = 15_000;

interface LinkParts {
  readonly db: Db;
  readonly clock: Clock;
  readonly way: ServiceWay;
  readonly came: unknown[];
  /** Command handlers of the connected sessions, by gateway. */
  readonly sessions: Map<string, ReturnType<typeof commandSide>>;
  readonly order: (gateway: string, command: unknown) => void;
}

/**
 * The gateway's link without a broker. Batches and acks pass as JSON through the service's real ingest and the
 * gateway's real ack handling.
 */
export function virtualLinkTo(parts: LinkParts): ServiceLink {
  const { db, clock, way, sessions, order } = parts;
  const learns = lateBroker(parts);
  return {
    async connect(account, signal): Promise<LinkSession> {
      await clock.sleep(way.latency_ms, signal);
      if (way.down) throw new ServiceLinkError("unreachable", "no route to the broker");
      const { gateway_id: gateway } = account;
      if (!learns(account.credential) || callerOfKey(db, account.credential, clock.wall())?.gateway_id !== gateway)
        throw new ServiceLinkError("credential", "the broker refuses the key");
      const line = openLine(parts);
      const side = commandSide(async (topic, payload) => {
        await line.pass();
        take(topic.replace("up/", ""), JSON.parse(payload) as Record<string, unknown>);
      });
      const take = (topic: string, message: Record<string, unknown>): void => {
        for (const command of takeMessage(db, { gateway, topic, now: clock.wall(), message })) order(gateway, command);
      };
      sessions.set(gateway, side);
      return {
        url: account.url,
        closed: line.closed,
        window: () => line.acking.window,
        takesChunks: () => line.acking.takes.includes(TAKES.chunks),
        async hello(booths) {
          await line.pass();
          take("hello", { booths: booths.map(named) });
        },
        async heartbeat(booths) {
          await line.pass().then(
            () => take("state", { online: true, booths: booths.map(named) }),
            () => undefined,
          );
        },
        commands: (take_them) => side.commands(take_them),
        say: (message) => side.say(message),
        ...senders(parts, line, gateway),
        close: () => {
          line.end("the session was closed");
          if (sessions.get(gateway) === side) sessions.delete(gateway);
          return Promise.resolve();
        },
      };
    },
  };
}

/** Returns a function that tells whether the broker knows a key by now. */
function lateBroker({ db, clock, way }: LinkParts): (key: string) => boolean {
  const asked = new Map<string, number>();
  return (key) => {
    if (way.broker_learns_ms === null) return true;
    const used = row(db, "SELECT 1 FROM api_keys WHERE hash = ? AND pbkdf2 IS NOT NULL", hashOf(key));
    if (used === undefined) return false;
    if (!asked.has(key)) asked.set(key, clock.mono());
    return clock.mono() - (asked.get(key) ?? 0) >= way.broker_learns_ms;
  };
}

function named({ stream, ...booth }: HelloBooth | BoothHeartbeat): object {
  return { stream_id: stream, ...booth };
}

/** A connection to the broker. */
interface Line {
  readonly acking: Acking;
  readonly closed: Promise<ServiceLinkError>;
  end(reason: string): void;
  /** Waits until a packet has passed the connection. Rejects if the connection is down. */
  pass(): Promise<void>;
  /** Handles a payload on down/ack. */
  heard(payload: string): void;
}

function openLine({ clock, way }: LinkParts): Line {
  const acking: Acking = { waiting: createWaiters(), window: 1, takes: [] };
  // The service time belongs to the process that opened the link, so a payload for an ended process has no effect.
  const service_time = way.listener ?? createServiceTime();
  const hear = way.hear(handleAck);
  let tell: (reason: ServiceLinkError) => void = () => undefined;
  const closed = new Promise<ServiceLinkError>((resolve) => (tell = resolve));
  const end = (reason: string): void => {
    for (const entry of acking.waiting.all()) entry.settle({ kind: "keep", reason });
    tell(new ServiceLinkError("closed", reason));
  };
  return {
    acking,
    closed,
    end,
    async pass() {
      await clock.sleep(way.latency_ms);
      if (!way.down) return;
      end("the connection to the broker is gone");
      throw new Error("the connection to the broker is gone");
    },
    heard: (payload) => hear({ clock, service_time }, acking, Buffer.from(payload)),
  };
}

function senders(parts: LinkParts, line: Line, gateway_id: string): Pick<LinkSession, "send" | "sendChunk"> {
  const { clock } = parts;
  const exchange = createExchange({
    clock,
    waiting: line.acking.waiting,
    atDeadline: (late) => {
      const settled = new AbortController();
      clock.sleep(ACK_DEADLINE_MS, settled.signal).then(late, () => undefined);
      return () => settled.abort();
    },
  });
  const offer = (sent: Sent, outcome: PendingAck["outcome"]): Promise<BatchOutcome> => {
    const publish = async (): Promise<null> => {
      await line.pass();
      void answer(parts, line, sent);
      return null;
    };
    return exchange({ publish, outcome });
  };
  const { db, came } = parts;
  const offered = () => ({ gatewayId: gateway_id, nowMs: clock.wall() });
  return {
    send(stream, generation, records) {
      const wire = batchOf({ gateway_id, generation, stream }, records, clock.wall());
      const said: unknown = JSON.parse(JSON.stringify(wire));
      const take = (): Ack => {
        came.push(said);
        return ingestBatch(db, offered(), said);
      };
      return offer({ said, take }, (ack, alone) => outcomeOf(ack, { stream, records }, alone));
    },
    sendChunk(stream, generation, chunk) {
      const facts = chunk.facts.length === 0 ? Buffer.alloc(0) : deflateRawSync(factLines(chunk.facts));
      const message = chunkMessage({ gateway_id, generation, stream }, chunk, facts);
      const k = Array.from({ length: chunk.to - chunk.from + 1 }, () => "r");
      const hash = sha256(message);
      const said: SaidChunk = {
        st: stream,
        s0: chunk.from,
        first: chunk.first_seq,
        k,
        chunk: hash,
        sent: clock.wall(),
      };
      const take = (): ChunkAck => {
        came.push(message);
        return ingestChunk(db, offered(), message);
      };
      const sent = { ...chunk, stream, hash };
      return offer({ said, take }, (ack) => chunkOutcomeOf(ack, sent));
    },
  };
}

/**
 * The range of a chunk in the same terms as a batch: `s0` is the first seq of the range, `first` is the first seq of
 * the body.
 */
export interface SaidChunk {
  readonly st: string;
  readonly s0: number;
  readonly first: number;
  readonly k: readonly string[];
  /** Hash of the chunk's message. */
  readonly chunk: string;
  readonly sent: number;
}

export function isChunk(said: unknown): said is SaidChunk {
  return typeof said === "object" && said !== null && "chunk" in said;
}

/** A batch, or a chunk in the terms of a batch, and the function with which the service stores it. */
interface Sent {
  readonly said: unknown;
  readonly take: () => Ack | ChunkAck;
}

/** Stores the message at the service and returns the ack to the gateway, unless the test loses the ack. */
async function answer({ way }: LinkParts, line: Line, { said, take }: Sent): Promise<void> {
  const taken = (): Told => {
    const ack = take();
    for (const { seq } of ack.reject) way.refused.add(seq);
    return { ...ack, takes: way.takes, server_time: way.says(ack.server_time, "ack") };
  };
  const told = way.answers(said, taken);
  await line.pass().catch(() => undefined);
  if (way.down) return;
  if (way.lose_acks > 0) {
    way.lose_acks -= 1;
    way.lost_acks += 1;
    return;
  }
  for (const payload of told) line.heard(payload);
}

/** Payload of down/ack. */
export type Told = (Ack | ChunkAck) & { readonly takes: readonly string[] };

/** Faults of the connection to the service. A test may change them at any time. */
export interface ServiceWay {
  /** Nothing passes in either direction. */
  down: boolean;
  /** The number of next acks to lose. The service stores those records. */
  lose_acks: number;
  /** The number of acks lost so far. */
  lost_acks: number;
  latency_ms: number;
  /** Time after which the broker knows a key that was used over HTTP; null: the broker asks the service about each key. */
  broker_learns_ms: number | null;
  /** Sees each HTTP request and each answer. The transfer waits for the promise. */
  passing: ((what: "request" | "answer", request: HttpRequest) => Promise<void>) | null;
  /** Receives the service's time from its acks. */
  listener: ServiceTime | null;
  /** Returns the time that the service's answers state, given the true time. */
  says: (time: number, way: TimeSource) => number;
  /** The features that the service says it accepts. */
  takes: readonly string[];
  /** Returns the payloads on down/ack for a batch. Calling `take` stores the batch and returns the true ack. */
  answers: (batch: unknown, take: () => Told) => readonly string[];
  /** Seqs that the service itself has permanently rejected. */
  readonly refused: Set<number>;
  /** Replaces the gateway's handling of payloads on down/ack. Its argument is the real handler. */
  hear: (own: typeof handleAck) => typeof handleAck;
}
