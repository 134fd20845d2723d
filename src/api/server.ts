import { chmodSync, mkdirSync, rmSync } from "node:fs";
import type { RequestListener, ServerOptions } from "node:http";
import type { ListenOptions, Socket } from "node:net";
import { dirname } from "node:path";
import { createRate, keepRoom } from "./crowd.ts";
import { handlerOf } from "./handler.ts";
import { createLiveFeed } from "./live.ts";
import { isSocket, type PageListener, Refusal, type Services } from "./operation.ts";
import { type Sessions, toldStatus, type Way } from "./operation.ts";
import type { TlsServer } from "./over-tls.ts";
import type { KeptSessions } from "./kept-sessions.ts";
import { say } from "../domain/sentences.ts";
import type { PageAccess } from "../domain/status.ts";
import type { PageState } from "./port.ts";
import { typedAddresses } from "../tools/own-addresses.ts";
import { createSessions } from "./access.ts";
import { monotonicMs } from "../monotonic.ts";
import { errorMessage } from "../domain/error-message.ts";

/** An import of node:http would load its WebSocket, and with it undici: 14 MB and 40 ms of CPU. */
const { createServer: createPlain } = process.getBuiltinModule("node:http");

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
const RATES = {
  /** From this machine: one that asks in a loop must not take the processor from the polls. */
  loopback: { per_s: 500, burst: 1_000 },
  lan: { per_s: 20, burst: 150 },
};

const OPTIONS = {
  headersTimeout: HEADERS_TIMEOUT_MS,
  requestTimeout: REQUEST_TIMEOUT_MS,
  connectionsCheckingInterval: CHECK_EVERY_MS,
  keepAliveTimeout: KEEP_ALIVE_MS,
  maxHeaderSize: MAX_HEADER_BYTES,
} as const satisfies ServerOptions;

type Listener = Awaited<ReturnType<typeof serve>>;

/**
 * The agent's socket: who may open it (its group) may ask nearly anything, no key needed. Rejects where the path is too long
 * for a socket, or the folder can't be written.
 */
export function serveSocket(path: string, services: Services): Promise<Listener> {
  return listenAt({ path, way: "socket", mode: 0o660 }, services);
}

/**
 * The same for what is root's alone, who passes all modes; the agent's own user owns it, and nobody logs in as that. A socket
 * gets its mode only after it is made: the folder, its own, is closed before. Rejects as the other.
 */
export async function serveAdminSocket(path: string, services: Services): Promise<Listener> {
  const folder = dirname(path);
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o700);
  const listener = await listenAt({ path, way: "admin", mode: 0o600 }, services);
  return {
    ...listener,
    close: () => {
      listener.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function listenAt(
  { path, way, mode }: { readonly path: string; readonly way: "socket" | "admin"; readonly mode: number },
  services: Services,
): Promise<Listener> {
  if (Buffer.byteLength(path) > MAX_SOCKET_PATH) {
    throw new Error(
      `${path} is too long for a socket (${MAX_SOCKET_PATH} bytes at most): set runtime_dir to a shorter path`,
    );
  }
  mkdirSync(dirname(path), { recursive: true, mode: 0o750 });
  rmSync(path, { force: true });
  const listener = await serve(services, { way, listen: { path } });
  chmodSync(path, mode);
  return listener;
}

/** The page and the local API for this machine alone. Rejects where the port is taken. */
export function serveLoopback(port: number, services: Services): Promise<Listener> {
  return serve(services, { way: "loopback", listen: { host: "127.0.0.1", port } });
}

interface Serving {
  readonly way: Way;
  readonly listen: ListenOptions;
  readonly tls?: { readonly key: string; readonly cert: string };
}

async function serve(services: Services, { way, listen, tls }: Serving) {
  const feed = createLiveFeed(services.control, () => toldStatus(services));
  const allow = isSocket(way) ? () => true : createRate(RATES[way], monotonicMs);
  const handler = handlerOf({ services, way, allow, feed });
  const server = boundedServer(
    tls === undefined
      ? createPlain(OPTIONS, handler)
      : (await import("./over-tls.ts")).createTlsServer(
          { http1: OPTIONS, tls: { ...tls, minVersion: "TLSv1.2", handshakeTimeout: HANDSHAKE_MS } },
          handler,
        ),
    isSocket(way) ? "one" : "many",
  );
  return {
    /** 0: a unix socket. */
    port: await server.listen(listen),
    /** Ends every connection, event streams too. */
    close(): void {
      feed.close();
      server.close();
    },
  };
}

/** A server for figures alone, with the page's certificate. */
export function secureServer(tls: { readonly key: string; readonly cert: string }, handler: RequestListener) {
  const { createServer: createTls } = process.getBuiltinModule("node:https");
  const options = { ...OPTIONS, ...tls, minVersion: "TLSv1.2" as const, handshakeTimeout: HANDSHAKE_MS };
  return boundedServer(createTls(options, handler), "many");
}

type BoundedServer = ReturnType<typeof createPlain> | TlsServer;

/** A server whose connections are bounded. `parties`: one, as who may open the socket, or many. */
function boundedServer(server: BoundedServer, parties: "one" | "many") {
  keepRoom(server, parties === "many" ? CONNECTIONS : { ...CONNECTIONS, each: CONNECTIONS.total });
  server.on("clientError", refuse);
  return {
    /** The port; 0: a unix socket. Rejects where it can't listen there. */
    async listen(listen: ListenOptions): Promise<number> {
      await new Promise<void>((resolve, reject) => {
        server.once("error", reject);
        server.listen(listen, resolve);
      });
      const address = server.address();
      return address === null || typeof address === "string" ? 0 : address.port;
    },
    close: (): void => {
      server.close();
      server.closeAllConnections();
    },
  };
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
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
  );
}

/** The box's own certificate for its page. */
export interface PageCertificate {
  readonly key: string;
  readonly cert: string;
  /** SHA-256, in pairs. */
  readonly fingerprint: string;
}

interface PageListenerOptions {
  /** On loopback; 0: any free one. */
  readonly port: number;
  /** On the network; 0: any free one. */
  readonly lan_port: number;
  readonly certificate: () => Promise<PageCertificate>;
  /** Absent: it stays open on the network for nobody. */
  readonly always?: AlwaysOpen;
  /** How figures are scraped over the network; absent: they aren't. */
  readonly scraped?: () => PageAccess["scraped"];
}

/** What it takes to stay open on the network. */
export interface AlwaysOpen {
  readonly kept: KeptSessions;
  /** Who has said whether, and where; `is_on` as somebody on the spot has said it last. */
  readonly said: { readonly by_file: boolean | null; readonly file: string; is_on(): boolean; put(on: boolean): void };
  /** The PIN that was set beforehand; null: none is. Throws where its file can't be used. */
  pin(): string | null;
}

export type OpenPageListener = Awaited<ReturnType<typeof openPageListener>>;

interface Lan {
  readonly listener: Listener;
  readonly fingerprint: string;
  /** null: it stays open. */
  readonly until: number | null;
  readonly timer: NodeJS.Timeout | undefined;
}

/** The listener on the network: for a time, or for good. */
function createLan(
  { lan_port, certificate }: Pick<PageListenerOptions, "lan_port" | "certificate">,
  services: () => Services,
) {
  const mono = monotonicMs;
  let lan: Lan | null = null;
  const close = (): void => {
    if (lan === null) return;
    clearTimeout(lan.timer);
    lan.listener.close();
    lan = null;
  };
  return {
    close,
    stays: () => lan !== null && lan.until === null,
    /** `over`: what is done once its time has passed; null: it stays. */
    async open(time: { readonly for_ms: number; readonly over: () => void } | null): Promise<void> {
      close();
      const { fingerprint, ...pems } = await certificate();
      const listener = await serve(services(), { way: "lan", listen: { port: lan_port }, tls: pems });
      const timer = time === null ? undefined : setTimeout(time.over, time.for_ms).unref();
      lan = { listener, fingerprint, until: time === null ? null : mono() + time.for_ms, timer };
    },
    state(): PageState["lan"] {
      if (lan === null) return null;
      const { listener, fingerprint, until } = lan;
      const urls = typedAddresses().map((address) => `https://${address}:${listener.port}`);
      return { urls, port: listener.port, fingerprint, for_ms: until === null ? null : Math.max(0, until - mono()) };
    },
  };
}

/**
 * Serves the page on loopback; a port that is taken costs the page and nothing else, `state().trouble` says so. On the
 * network, encrypted, it stands open between `open` and the end of its time, or for good.
 */
export async function openPageListener(
  { port, always, scraped, ...network }: PageListenerOptions,
  given: Omit<Services, "sessions" | "page">,
) {
  const sessions = createSessions(monotonicMs, always?.kept);
  const lan = createLan(network, () => services);
  let loopback: Listener | null = null;
  let trouble: string = "";
  const over = (): void => {
    if (!lan.stays()) lan.close();
    sessions.close();
  };
  const state = (): PageState => ({
    url: loopback === null ? null : `http://127.0.0.1:${loopback.port}`,
    trouble,
    lan: lan.state(),
    pin_for_ms: sessions.left_ms(),
  });
  const page: PageListener = {
    state,
    ...staying({ always, lan, sessions }),
    access() {
      const open = lan.state();
      const network = open === null ? "closed" : open.for_ms === null ? "always" : "timed";
      const door = scraped?.();
      const more = door === undefined ? {} : { scraped: door };
      return { network, urls: open?.urls ?? [], devices: always?.kept.count() ?? 0, ...more };
    },
    async open(how) {
      // Where it stays open a PIN of its own makes no other listener.
      if (how.lan && !lan.stays()) await lan.open({ for_ms: how.for_ms, over });
      else if (!lan.stays()) lan.close();
      return { pin: sessions.open(how.for_ms, how.pin), ...state() };
    },
    close() {
      over();
      always?.kept.endAll();
    },
  };
  const services = { ...given, sessions, page } satisfies Services;
  try {
    loopback = await serveLoopback(port, services);
  } catch (error) {
    trouble = `the page can't be served on port ${port}: ${errorMessage(error)}; choose another page.port`;
  }
  return {
    services,
    close() {
      lan.close();
      sessions.close();
      loopback?.close();
    },
  };
}

/** The part of the listener that is about staying open on the network. */
function staying({
  always,
  lan,
  sessions,
}: {
  readonly always: AlwaysOpen | undefined;
  readonly lan: ReturnType<typeof createLan>;
  readonly sessions: Sessions;
}): Pick<PageListener, "network" | "keepOpen" | "endSession"> {
  const open = async (): Promise<void> => {
    const pin = always?.pin() ?? null;
    if (pin === null) throw new Refusal(409, say("ask.network_no_pin"));
    await lan.open(null);
    sessions.stand(pin);
  };
  return {
    network: (token) => ({
      always: lan.stays(),
      whose: always?.said.by_file === null ? "set_up" : "file",
      has_pin: hasPin(always),
      urls: lan.state()?.urls ?? [],
      devices: always?.kept.list(token) ?? [],
    }),
    async keepOpen(on) {
      const { by_file, file } = always?.said ?? { by_file: null, file: "" };
      if (by_file !== null && by_file !== on) throw new Refusal(409, say("ask.network_fixed", { file }));
      if (on === lan.stays()) return;
      if (on) await open();
      else {
        sessions.stand(null);
        lan.close();
      }
      if (by_file === null && always?.said.is_on() !== on) always?.said.put(on);
    },
    endSession: (id) => always?.kept.end(id) ?? false,
  };
}

function hasPin(always: AlwaysOpen | undefined): boolean {
  try {
    return (always?.pin() ?? null) !== null;
  } catch {
    // What is wrong with the file is said to who wants to use it.
    return false;
  }
}
