import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type BadRange, goodManners, type Manners } from "./manners.ts";
import type { AddressInfo } from "node:net";
import type { ServerCounts } from "./counts.ts";
import { errorMessage } from "../../src/domain/error-message.ts";

/** Changes a running PLC's manners and reads its counts over HTTP on 127.0.0.1. */
export interface Control {
  readonly port: number;
  close(): Promise<void>;
}

interface Controlled {
  readonly manners: Manners;
  readonly counts: Readonly<ServerCounts>;
}

const MAX_BODY_BYTES = 64 * 1024;
const TABLES: readonly unknown[] = ["coil", "discrete", "input", "holding"];
/** A field in which null means no limit, because JSON has no Infinity. */
const UNLIMITED = "max_connections";
/** Fields that null switches off. */
const NULLABLE: ReadonlySet<string> = new Set([
  UNLIMITED,
  "idle_close_ms",
  "exception",
  "identification_bytes",
  "split_bytes",
]);

/**
 * Starts the server: GET /manners, POST /manners with the fields to change, DELETE /manners to reset them, GET /counts.
 * @param port 0: any free port
 */
export async function startControl(plc: Controlled, port: number): Promise<Control> {
  const server = createServer((request, response) => {
    answer(plc, request).then(
      (body) => send(response, 200, body),
      (error: unknown) => send(response, 400, { error: errorMessage(error) }),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "Content-Type": "application/json" }).end(`${JSON.stringify(body, null, 2)}\n`);
}

async function answer({ manners, counts }: Controlled, request: IncomingMessage): Promise<unknown> {
  const call = `${request.method ?? ""} ${request.url ?? ""}`;
  if (call === "GET /counts") return counts;
  if (call === "POST /manners") Object.assign(manners, changesIn(await bodyOf(request)));
  else if (call === "DELETE /manners") Object.assign(manners, goodManners());
  else if (call !== "GET /manners")
    throw new Error(`there is no ${call}; there are GET, POST, DELETE /manners, GET /counts`);
  return manners;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new Error("the body is too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Parses the changes. Throws an Error that names a wrong field, and then no change is applied. */
export function changesIn(text: string): Partial<Manners> {
  const given: unknown = JSON.parse(text);
  if (typeof given !== "object" || given === null || Array.isArray(given)) throw new Error("send an object of manners");
  const usual = new Map<string, unknown>(Object.entries(goodManners()));
  const changes = Object.entries(given).map(([name, value]: [string, unknown]) => {
    if (!usual.has(name)) throw new Error(`${name} is none of ${[...usual.keys()].join(", ")}`);
    if (!(value === null ? NULLABLE.has(name) : fits(usual.get(name), value)))
      throw new Error(`${name} can't be ${JSON.stringify(value)}`);
    return [name, value === null && name === UNLIMITED ? Infinity : value] as const;
  });
  return Object.fromEntries(changes);
}

function fits(usual: unknown, value: unknown): boolean {
  if (Array.isArray(usual)) return Array.isArray(value) && value.every(isRange);
  if (typeof usual === "boolean") return typeof value === "boolean";
  return Number.isInteger(value);
}

function isRange(value: unknown): value is BadRange {
  if (typeof value !== "object" || value === null) return false;
  const fields = new Map<string, unknown>(Object.entries(value));
  const numbers = [fields.get("first"), fields.get("last"), fields.get("code")];
  return TABLES.includes(fields.get("table")) && numbers.every((one) => Number.isInteger(one));
}
