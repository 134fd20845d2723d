import { openCommands, type SentCommand, takeResult, unheardCommands } from "./commands.ts";
import { type Db, inTransaction, row, run } from "../storage/db.ts";
import { takeDigest } from "./digest.ts";
import { takeHello } from "./hello.ts";
import { askForLacking, continueAsking, statedIn } from "./lacking.ts";
import { type Ack, type ChunkAck, ingestBatch, ingestChunk, refuseBatch } from "./store.ts";
import { unpack } from "./unpack.ts";
import type { Uplink, Uplinks } from "../storage/port.ts";
import { textOf } from "../base/utf8.ts";

/** Largest payload of what holds no records, bytes. */
const MAX_MESSAGE_BYTES = 128 * 1024;
/** Stored hellos, results and digests; older ones go. */
export const MAX_MESSAGES = 20_000;

/** Formats accepted in addition to gzipped JSON; each ack names them. */
export const TAKES = ["chunk/1", "zstd"] as const;

/** The answer to a gateway: the ack of committed records, or commands. */
export interface Downlink {
  readonly ack?: ((Ack | ChunkAck) & { readonly takes: readonly string[] }) | undefined;
  readonly commands?: readonly SentCommand[];
}

/** Messages in one transaction: what follows waits until others had their turn in between. */
const MAX_TOGETHER = 64;

interface Waiting {
  readonly uplink: Uplink;
  readonly answer: (downlink: Downlink) => void;
  readonly fail: (cause: unknown) => void;
}

/**
 * Takes the messages that came together in one transaction: SQLite has one writer, it is here, and a commit costs as much as a chunk.
 * A gateway that delivers a backlog has several under way.
 */
export function uplinksHere(db: Db): Uplinks<Downlink> {
  let ended = false;
  let waiting: Waiting[] = [];
  const takeSome = (): void => {
    const taken = waiting.slice(0, MAX_TOGETHER);
    waiting = waiting.slice(MAX_TOGETHER);
    if (waiting.length > 0) setImmediate(takeSome);
    takeTogether(db, taken);
  };
  return {
    take: (uplink) => {
      if (ended) return Promise.reject(new Error("the service ends"));
      return new Promise((answer, fail) => {
        if (waiting.push({ uplink, answer, fail }) === 1) setImmediate(takeSome);
      });
    },
    waiting: () => waiting.length,
    stop: () => {
      ended = true;
      while (waiting.length > 0) takeSome();
      return Promise.resolve();
    },
  };
}

function takeTogether(db: Db, taken: readonly Waiting[]): void {
  let answers: readonly Downlink[];
  try {
    answers = inTransaction(db, () => taken.map(({ uplink }) => takeUplink(db, uplink)));
  } catch {
    // A faulty message must not affect the others.
    for (const one of taken) takeAlone(db, one);
    return;
  }
  for (const [nth, { answer }] of taken.entries()) answer(answers[nth] ?? {});
}

function takeAlone(db: Db, { uplink, answer, fail }: Waiting): void {
  try {
    answer(takeUplink(db, uplink));
  } catch (cause) {
    fail(cause);
  }
}

/** Takes one message of a gateway. */
export function takeUplink(db: Db, { gateway, topic, payload, now }: Uplink): Downlink {
  const ack = takeRecords(db, { gateway, topic, payload, now });
  if (ack !== undefined) return { ack: { ...ack, takes: TAKES } };
  const message = parseMessage(payload);
  return message === undefined ? {} : { commands: takeMessage(db, { gateway, topic, now, message }) };
}

function takeRecords(db: Db, { gateway, topic, payload, now }: Uplink): Ack | ChunkAck | undefined {
  const offer = { gatewayId: gateway, nowMs: now };
  if (topic === "chunk") return ingestChunk(db, offer, payload);
  if (topic !== "batch") return undefined;
  const unpacked = unpack(payload);
  return "error" in unpacked
    ? refuseBatch(unpacked.error, now)
    : ingestBatch(db, { ...offer, payload }, unpacked.batch);
}

/** Takes a message that holds no records; the commands to be sent in answer. */
export function takeMessage(db: Db, taken: Message & { topic: string }): readonly SentCommand[] {
  const { gateway, topic, now, message } = taken;
  const from = { id: gateway, nowMs: now };
  if (topic === "state") {
    takeState(db, { gateway, now, message });
    askForLacking(db, from, statedIn(message));
    return unheardCommands(db, gateway, now);
  }
  if (["hello", "result", "digest"].includes(topic)) keep(db, taken);
  if (topic === "result") {
    takeResult(db, gateway, message);
    return continueAsking(db, from, message);
  }
  if (topic === "digest") {
    const backfill = takeDigest(db, from, message);
    return backfill === undefined ? [] : [backfill];
  }
  if (topic !== "hello") return [];
  takeHello(db, from, message);
  askForLacking(db, from, statedIn(message));
  // These include the backfills of what is missing.
  return openCommands(db, gateway);
}

export function parseMessage(payload: Uint8Array): Record<string, unknown> | undefined {
  if (payload.byteLength > MAX_MESSAGE_BYTES) return undefined;
  try {
    const value = JSON.parse(textOf(payload)) as unknown;
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    // Not JSON, or not UTF-8: ignored without an answer.
    return undefined;
  }
}

interface Message {
  readonly gateway: string;
  readonly now: number;
  readonly message: Readonly<Record<string, unknown>>;
}

/**
 * Handles a heartbeat. A will or a farewell keeps the last state. One of an older session than that state's is
 * ignored: a broker sends a will late, and the gateway is back already.
 */
function takeState(db: Db, { gateway, now, message }: Message): void {
  if (message["online"] === false) {
    const last = row<{ state: string | null }>(db, "SELECT state FROM gateways WHERE id = ?", gateway)?.state;
    const { session } = JSON.parse(last ?? "{}") as { readonly session?: unknown };
    const isLate = session !== undefined && message["session"] !== undefined && message["session"] !== session;
    if (!isLate) run(db, "UPDATE gateways SET online = 0 WHERE id = ?", gateway);
  } else {
    const sql = "UPDATE gateways SET online = 1, heartbeat_at = ?, last_seen_at = ?, state = ? WHERE id = ?";
    run(db, sql, now, now, JSON.stringify(message), gateway);
  }
}

function keep(db: Db, { gateway, topic, now, message }: Message & { topic: string }): void {
  const sql = "INSERT INTO uplink_messages (gateway_id, topic, payload, received_at) VALUES (?, ?, ?, ?)";
  run(db, sql, gateway, `up/${topic}`, JSON.stringify(message), now);
  run(db, "DELETE FROM uplink_messages WHERE id <= (SELECT max(id) FROM uplink_messages) - ?", MAX_MESSAGES);
}
