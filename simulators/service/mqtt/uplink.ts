import { run } from "../db.ts";
import type { Db } from "../db.ts";
import { takeHello } from "../ingest/hello.ts";
import { ingestBatch, refuseBatch } from "../ingest/store.ts";
import type { Ack } from "../ingest/store.ts";
import { unpack } from "../ingest/unpack.ts";

/** Largest payload of anything but a batch, bytes. */
const MAX_MESSAGE_BYTES = 128 * 1024;
/** Stored hellos, results and digests; older ones go. */
const MAX_MESSAGES = 20_000;

export type UpTopic = "state" | "hello" | "batch" | "result" | "digest";

export interface Uplink {
  readonly gateway: string;
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly now: number;
}

/** Takes one message of a gateway; a batch is answered with the ack of what was committed. */
export function takeUplink(db: Db, { gateway, topic, payload, now }: Uplink): Ack | undefined {
  if (topic === "batch") {
    const unpacked = unpack(payload);
    return "error" in unpacked
      ? refuseBatch(unpacked.error, now)
      : ingestBatch(db, { gatewayId: gateway, nowMs: now }, unpacked.batch);
  }
  const message = parseMessage(payload);
  if (message === undefined) return undefined;
  if (topic === "state") takeState(db, { gateway, now, message });
  else if (topic === "hello") takeHello(db, { id: gateway, nowMs: now }, message);
  else if (topic === "result") takeResult(db, { gateway, message });
  if (["hello", "result", "digest"].includes(topic)) keep(db, { gateway, topic, now, message });
  return undefined;
}

function parseMessage(payload: Uint8Array): Record<string, unknown> | undefined {
  if (payload.byteLength > MAX_MESSAGE_BYTES) return undefined;
  try {
    const value = JSON.parse(Buffer.from(payload).toString("utf8")) as unknown;
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    // Not JSON: nothing to keep of it, and nobody to tell.
    return undefined;
  }
}

interface Message {
  readonly gateway: string;
  readonly now: number;
  readonly message: Readonly<Record<string, unknown>>;
}

/** The heartbeat; the will says online false and leaves the last state as it was. */
function takeState(db: Db, { gateway, now, message }: Message): void {
  if (message["online"] === false) run(db, "UPDATE gateways SET online = 0 WHERE id = ?", gateway);
  else {
    const sql = "UPDATE gateways SET online = 1, heartbeat_at = ?, last_seen_at = ?, state = ? WHERE id = ?";
    run(db, sql, now, now, JSON.stringify(message), gateway);
  }
}

/** A result is good for a command to that very gateway. */
function takeResult(db: Db, { gateway, message }: Omit<Message, "now">): void {
  const { cmd_id, state } = message;
  if (typeof cmd_id !== "string" || typeof state !== "string") return;
  const sql = "UPDATE commands SET state = ?, result = ? WHERE id = ? AND gateway_id = ?";
  run(db, sql, state, JSON.stringify(message), cmd_id, gateway);
}

function keep(db: Db, { gateway, topic, now, message }: Message & { topic: string }): void {
  const sql = "INSERT INTO uplink_messages (gateway_id, topic, payload, received_at) VALUES (?, ?, ?, ?)";
  run(db, sql, gateway, `up/${topic}`, JSON.stringify(message), now);
  run(db, "DELETE FROM uplink_messages WHERE id <= (SELECT max(id) FROM uplink_messages) - ?", MAX_MESSAGES);
}
