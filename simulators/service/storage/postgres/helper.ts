import { createHash } from "node:crypto";
import { type MessagePort, workerData } from "node:worker_threads";
import { Client } from "pg";
import type { Answered, Asked } from "./line.ts";
import { numbered, settingsOf } from "./settings.ts";
import { errorMessage } from "../../../../src/domain/error-message.ts";

/** Idle time after which a connection is closed; the next statement opens it again. */
const IDLE_MS = 10_000;

interface Connection {
  readonly client: Client;
  readonly prepared: Map<string, { readonly name: string; readonly text: string }>;
  idle: NodeJS.Timeout | undefined;
  /** Why it can't be used any more. */
  broken: string | undefined;
  in_transaction: boolean;
}

const { port, flag } = workerData as { readonly port: MessagePort; readonly flag: Int32Array };
const connections = new Map<number, Connection>();

port.on("message", (asked: Asked) => {
  void answer(asked)
    .catch((error: unknown): Answered => {
      const code = error instanceof Error && "code" in error ? String(error.code) : undefined;
      return { kind: "failed", text: errorMessage(error), code };
    })
    .then((answered) => {
      port.postMessage(answered);
      Atomics.store(flag, 0, 1);
      Atomics.notify(flag, 0);
    });
});

async function answer(asked: Asked): Promise<Answered> {
  if (asked.kind === "close") {
    await give(asked.connection, connections.get(asked.connection));
    return { kind: "done", rows: [], count: 0 };
  }
  const connection = await connectionOf(asked);
  clearTimeout(connection.idle);
  try {
    const { sql, values, as } = asked;
    const wanted = values.length === 0 ? { text: numbered(sql) } : statementOf(connection, sql);
    const rowMode = as === "arrays" ? { rowMode: "array" as const } : {};
    const found = await connection.client.query({ ...wanted, ...rowMode, values: values.map(sent) });
    if (/^BEGIN/.test(sql)) connection.in_transaction = true;
    if (/^(COMMIT|ROLLBACK)$/.test(sql)) connection.in_transaction = false;
    return { kind: "done", rows: found.rows, count: found.rowCount ?? 0 };
  } finally {
    if (!connection.in_transaction) {
      connection.idle = setTimeout(() => void give(asked.connection, connection), IDLE_MS).unref();
    }
  }
}

/** A text with a NUL can be nowhere in it: asked for it finds nothing, as with any other stranger. */
function sent(value: unknown): unknown {
  if (typeof value === "string") return value.replaceAll("\0", "\uFFFD");
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value;
}

/** Each statement is parsed once by a connection. */
function statementOf({ prepared }: Connection, sql: string): { name: string; text: string } {
  let known = prepared.get(sql);
  if (known === undefined) {
    const text = numbered(sql);
    known = { name: createHash("sha1").update(text).digest("base64url"), text };
    prepared.set(sql, known);
  }
  return known;
}

async function connectionOf({ connection, url }: { connection: number; url: string }): Promise<Connection> {
  const known = connections.get(connection);
  if (known?.broken !== undefined) {
    connections.delete(connection);
    clearTimeout(known.idle);
    // An open transaction is lost and must be reported; only a new transaction uses a new connection.
    if (known.in_transaction)
      throw Object.assign(new Error(`the connection was lost: ${known.broken}`), { code: "08006" });
  } else if (known !== undefined) return known;
  const client = new Client(settingsOf(url));
  const made: Connection = { client, prepared: new Map(), idle: undefined, broken: undefined, in_transaction: false };
  client.on("error", (error) => (made.broken = error.message));
  client.on("end", () => (made.broken ??= "it ended"));
  await client.connect();
  connections.set(connection, made);
  return made;
}

/** Ends that connection, which another may have taken the place of. */
async function give(connection: number, known: Connection | undefined): Promise<void> {
  if (connections.get(connection) === known) connections.delete(connection);
  clearTimeout(known?.idle);
  await known?.client.end().catch(() => undefined);
}
