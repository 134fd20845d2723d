import { chmodSync, mkdirSync, rmSync } from "node:fs";
import type { Server, ServerOptions } from "node:http";
import type { ListenOptions } from "node:net";
import { dirname } from "node:path";
import type { Socket } from "node:net";
import type { AgentControl } from "../domain/agent-control.ts";
import { isSocket } from "./access.ts";
import { keepRoom } from "./crowd.ts";
import { handlerOf, type Entrance } from "./handler.ts";
import { createLiveFeed } from "./live.ts";
import { createRate } from "./rate.ts";
import type { MoreServices, Services } from "./services.ts";

/** An import of node:http would load its WebSocket, and with it undici: 14 MB and 40 ms of CPU. */
const { createServer: createPlain } = process.getBuiltinModule("node:http");
const { createServer: createTls } = process.getBuiltinModule("node:https");

const HEADERS_TIMEOUT_MS = 5_000;
const REQUEST_TIMEOUT_MS = 10_000;
/** How often connections are looked at that have taken too long. */
const CHECK_EVERY_MS = 2_000;
/** A phone on a weak network takes seconds. */
const HANDSHAKE_MS = 10_000;
const KEEP_ALIVE_MS = 10_000;
const MAX_HEADER_BYTES = 8_192;
/** Connections at once; each costs memory before it has said who it is. A browser opens six, and one machine may have several. */
const CONNECTIONS = { total: 100, each: 32 };
/** sun_path of Linux holds 108 bytes with its end. */
const MAX_SOCKET_PATH = 107;
/** From this machine: one that asks in a loop must not take the processor from the polls. */
const LOOPBACK_RATE = { per_s: 500, burst: 1_000 };
const LAN_RATE = { per_s: 20, burst: 150 };

const OPTIONS: ServerOptions = {
  headersTimeout: HEADERS_TIMEOUT_MS,
  requestTimeout: REQUEST_TIMEOUT_MS,
  connectionsCheckingInterval: CHECK_EVERY_MS,
  keepAliveTimeout: KEEP_ALIVE_MS,
  maxHeaderSize: MAX_HEADER_BYTES,
};

/** A running listener. */
export interface Listener {
  /** 0: a unix socket. */
  readonly port: number;
  /** Ends every connection, event streams too. */
  close(): void;
}

/**
 * The agent's socket: who may open it (its group) may ask nearly anything, no key needed. Rejects where the path is too long
 * for a socket, or the folder can't be written.
 */
export function serveSocket(path: string, control: AgentControl, more: MoreServices = {}): Promise<Listener> {
  return listenAt({ path, way: "socket", mode: 0o660 }, { ...more, control });
}

/**
 * The same for what is root's alone, who passes all modes; the agent's own user owns it, and nobody logs in as that. A socket
 * gets its mode only after it is made: the folder, its own, is closed before. Rejects as the other.
 */
export async function serveAdminSocket(
  path: string,
  control: AgentControl,
  more: MoreServices = {},
): Promise<Listener> {
  const folder = dirname(path);
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o700);
  const listener = await listenAt({ path, way: "admin", mode: 0o600 }, { ...more, control });
  return {
    ...listener,
    close: () => {
      listener.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

interface SocketFile {
  readonly path: string;
  readonly way: "socket" | "admin";
  readonly mode: number;
}

async function listenAt({ path, way, mode }: SocketFile, services: Services): Promise<Listener> {
  if (Buffer.byteLength(path) > MAX_SOCKET_PATH) {
    throw new Error(
      `${path} is too long for a socket (${MAX_SOCKET_PATH.toString()} bytes at most): set runtime_dir to a shorter path`,
    );
  }
  mkdirSync(dirname(path), { recursive: true, mode: 0o750 });
  rmSync(path, { force: true });
  const listener = await serve(services, {
    entrance: { way, own_names: noNames, allow: () => true },
    listen: { path },
  });
  chmodSync(path, mode);
  return listener;
}

/** The page and the local API for this machine alone. Rejects where the port is taken. */
export function serveLoopback(port: number, services: Services): Promise<Listener> {
  const entrance = { way: "loopback", own_names: noNames, allow: rateOf(LOOPBACK_RATE) } as const;
  return serve(services, { entrance, listen: { host: "127.0.0.1", port } });
}

export interface LanOptions {
  readonly port: number;
  readonly key: string;
  readonly cert: string;
  readonly own_names: () => ReadonlySet<string>;
}

/** The same on every network of the box, encrypted. Rejects where the port is taken. */
export function serveLan({ port, key, cert, own_names }: LanOptions, services: Services): Promise<Listener> {
  const entrance = { way: "lan", own_names, allow: rateOf(LAN_RATE) } as const;
  return serve(services, { entrance, listen: { port }, tls: { key, cert } });
}

interface Serving {
  readonly entrance: Omit<Entrance, "feed">;
  readonly listen: ListenOptions;
  readonly tls?: { readonly key: string; readonly cert: string };
}

async function serve(services: Services, { entrance, listen, tls }: Serving): Promise<Listener> {
  const feed = createLiveFeed(services.control);
  const handler = handlerOf(services, { ...entrance, feed });
  const server =
    tls === undefined
      ? createPlain(OPTIONS, handler)
      : createTls({ ...OPTIONS, ...tls, minVersion: "TLSv1.2", handshakeTimeout: HANDSHAKE_MS }, handler);
  // Who may open the socket is one party.
  if (isSocket(entrance.way)) server.maxConnections = CONNECTIONS.total;
  else keepRoom(server, CONNECTIONS);
  server.on("clientError", refuse);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(listen, resolve);
  });
  return { port: portOf(server), close: () => close(server, feed) };
}

function close(server: Pick<Server, "closeAllConnections" | "close">, feed: { close(): void }): void {
  feed.close();
  server.close();
  server.closeAllConnections();
}

function portOf(server: Pick<Server, "address">): number {
  const address = server.address();
  return address === null || typeof address === "string" ? 0 : address.port;
}

/** What isn't HTTP, or too much of it, gets an answer of the usual shape. */
function refuse(error: Error & { readonly code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  const status = error.code === "HPE_HEADER_OVERFLOW" ? "431 Request Header Fields Too Large" : "400 Bad Request";
  const body = `${JSON.stringify({ error: "that request can't be read" })}\n`;
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${body.length.toString()}\r\nConnection: close\r\n\r\n${body}`,
  );
}

function noNames(): ReadonlySet<string> {
  return new Set();
}

function rateOf(limit: typeof LAN_RATE): (address: string) => boolean {
  return createRate(limit, () => performance.now());
}
