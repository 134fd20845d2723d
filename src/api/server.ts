import { message, type Text } from "../domain/message.ts";
import { errorText } from "../domain/messages/message-error.ts";
import { chmodSync, mkdirSync, rmSync } from "node:fs";
import type { RequestListener, ServerOptions } from "node:http";
import type { ListenOptions, Socket } from "node:net";
import { dirname } from "node:path";
import type { PageAccess } from "../domain/status.ts";
import type { Milliseconds } from "../domain/units.ts";
import { monotonicMs } from "../monotonic.ts";
import { typedAddresses } from "../tools/own-addresses.ts";
import { createRate, keepRoom } from "./crowd.ts";
import { handlerOf } from "./handler.ts";
import type { KeptSessions } from "./kept-sessions.ts";
import { createLiveFeed } from "./live.ts";
import { fullStatus, isSocket, type PageListener, Refusal, type Services, type Channel } from "./operation.ts";
import type { TlsServer } from "./over-tls.ts";
import type { PageState } from "./port.ts";
import { createSessions, type Sessions } from "./sessions.ts";

/** The built-in HTTP module. An import would also load its WebSocket client undici, which takes 14 MB and 40 ms of CPU time. */
const { createServer: createPlain } = process.getBuiltinModule("node:http");

/** Time limit of a TLS handshake. A phone on a weak network takes seconds. */
const HANDSHAKE_MS: Milliseconds = 10_000;
/**
 * Maximum number of open connections, because each takes memory even before it sends a request. A browser opens six, and a machine may run
 * several browsers.
 */
const CONNECTIONS = { total: 100, each: 32 };
/** Maximum length of a socket's path. Linux has 108 bytes for it in sun_path, including the terminator. */
const MAX_SOCKET_PATH = 107;
const RATES = {
  /** Limit on this machine. A program that sends requests in a loop must not take the CPU from the polls. */
  loopback: { per_s: 500, burst: 1_000 },
  lan: { per_s: 20, burst: 150 },
};

const OPTIONS = {
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 2_000,
  keepAliveTimeout: 10_000,
  maxHeaderSize: 8_192,
} as const satisfies ServerOptions;

type Listener = Awaited<ReturnType<typeof serve>>;

/**
 * Serves the agent's socket. Members of its group may do nearly everything without a key. Rejects if the path is too long for a socket, or
 * if the folder can't be written.
 */
export function serveSocket(path: string, services: Services): Promise<Listener> {
  return listenAt({ path, channel: "socket", mode: 0o660 }, services);
}

/**
 * Serves root's socket. It belongs to the agent's user, under which nobody logs in; root may open every file. The folder is closed first,
 * because a socket's mode can be set only after it exists. Rejects for the same reasons as `serveSocket`.
 */
export async function serveAdminSocket(path: string, services: Services): Promise<Listener> {
  const folder = dirname(path);
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o700);
  const listener = await listenAt({ path, channel: "admin", mode: 0o600 }, services);
  return {
    ...listener,
    close: () => {
      listener.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function listenAt(
  { path, channel, mode }: { readonly path: string; readonly channel: "socket" | "admin"; readonly mode: number },
  services: Services,
): Promise<Listener> {
  if (Buffer.byteLength(path) > MAX_SOCKET_PATH) {
    throw new Error(
      `${path} is too long for a socket (${MAX_SOCKET_PATH} bytes at most): set runtime_dir to a shorter path`,
    );
  }
  mkdirSync(dirname(path), { recursive: true, mode: 0o750 });
  rmSync(path, { force: true });
  const listener = await serve(services, { channel, listen: { path } });
  chmodSync(path, mode);
  return listener;
}

/** Serves the page and the local API on loopback. Rejects if the port is in use. */
export function serveLoopback(port: number, services: Services): Promise<Listener> {
  return serve(services, { channel: "loopback", listen: { host: "127.0.0.1", port } });
}

interface Serving {
  readonly channel: Channel;
  readonly listen: ListenOptions;
  readonly tls?: { readonly key: string; readonly cert: string };
}

async function serve(services: Services, { channel, listen, tls }: Serving) {
  const feed = createLiveFeed(services.control, () => fullStatus(services));
  const allow = isSocket(channel) ? () => true : createRate(RATES[channel], monotonicMs);
  const handler = handlerOf({ services, channel, allow, feed });
  const server = boundedServer(
    tls === undefined
      ? createPlain(OPTIONS, handler)
      : (await import("./over-tls.ts")).createTlsServer(
          { http1: OPTIONS, tls: { ...tls, minVersion: "TLSv1.2", handshakeTimeout: HANDSHAKE_MS } },
          handler,
        ),
    isSocket(channel) ? CONNECTIONS.total : CONNECTIONS.each,
  );
  return {
    /** The port; 0 for a unix socket. */
    port: await server.listen(listen),
    /** Closes all connections, including event streams. */
    close(): void {
      feed.close();
      server.close();
    },
  };
}

/** Creates a server with TLS and HTTP/1.1 that has its own handler, such as the metrics for a scraper. */
export function secureServer(tls: { readonly key: string; readonly cert: string }, handler: RequestListener) {
  const { createServer: createTls } = process.getBuiltinModule("node:https");
  const options = { ...OPTIONS, ...tls, minVersion: "TLSv1.2" as const, handshakeTimeout: HANDSHAKE_MS };
  return boundedServer(createTls(options, handler), CONNECTIONS.each);
}

/** Sets the connection limits of a server. `each`: connections per sender. */
function boundedServer(server: ReturnType<typeof createPlain> | TlsServer, each: number) {
  keepRoom(server, { total: CONNECTIONS.total, each });
  server.on("clientError", refuse);
  return {
    /** Starts to listen. Returns the port, or 0 for a unix socket. Rejects if the server can't listen. */
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

/** Answers a request that isn't HTTP, or whose headers are too long. */
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

/** The box's own certificate for the page. */
export interface PageCertificate {
  readonly key: string;
  readonly cert: string;
  /** SHA-256 fingerprint, in pairs of hex digits. */
  readonly fingerprint: string;
}

interface PageListenerOptions {
  /** Port on loopback; 0: any free port. */
  readonly port: number;
  /** Port on the network; 0: any free port. */
  readonly lan_port: number;
  readonly certificate: () => Promise<PageCertificate>;
  /** Settings of permanent access; absent: the page can't stay open on the network. */
  readonly always?: AlwaysOpen;
  /** Returns the state of the scraper's listener; absent: no scraper is configured. */
  readonly scraped?: () => PageAccess["scraped"];
}

/** The settings and sessions of a page that stays open on the network. */
export interface AlwaysOpen {
  readonly kept: KeptSessions;
  /**
   * Whether the page stays open. `by_file`: the setting in the configuration `file`, or null. `is_on`: the last decision made on the page;
   * `put` stores a new decision.
   */
  readonly said: { readonly by_file: boolean | null; readonly file: string; is_on(): boolean; set(on: boolean): void };
  /** Returns the permanent PIN; null: no PIN is set. Throws if the PIN's file can't be used. */
  pin(): string | null;
}

export type OpenPageListener = Awaited<ReturnType<typeof openPageListener>>;

interface Lan {
  readonly listener: Listener;
  readonly fingerprint: string;
  /** Monotonic time at which the page is closed; null: it stays open. */
  readonly until: number | null;
  readonly timer: NodeJS.Timeout | undefined;
}

/** Manages the listener on the network. */
function createLan(
  { lan_port, certificate }: Pick<PageListenerOptions, "lan_port" | "certificate">,
  services: () => Services,
) {
  let lan: Lan | null = null;
  const close = (): void => {
    clearTimeout(lan?.timer);
    lan?.listener.close();
    lan = null;
  };
  return {
    close,
    isPermanent: () => lan !== null && lan.until === null,
    /** Opens the listener permanently, or for a time, after which `over` is called. */
    async open(time: { readonly for_ms: Milliseconds; readonly over: () => void } | null): Promise<void> {
      close();
      const { fingerprint, ...pems } = await certificate();
      const listener = await serve(services(), { channel: "lan", listen: { port: lan_port }, tls: pems });
      const timer = time === null ? undefined : setTimeout(time.over, time.for_ms).unref();
      lan = { listener, fingerprint, until: time === null ? null : monotonicMs() + time.for_ms, timer };
    },
    state(): PageState["lan"] {
      if (lan === null) return null;
      const { listener, fingerprint, until } = lan;
      const urls = typedAddresses().map((address) => `https://${address}:${listener.port}`);
      const for_ms = until === null ? null : Math.max(0, until - monotonicMs());
      return { urls, port: listener.port, fingerprint, for_ms };
    },
  };
}

/**
 * Serves the page. On loopback it is always open; if the port is in use, the agent runs without it, and `state().trouble` has the reason.
 * On the network it is open with TLS, either for the time given to `open` or permanently.
 */
export async function openPageListener(
  { port, always, scraped, ...network }: PageListenerOptions,
  given: Omit<Services, "sessions" | "page">,
) {
  const sessions = createSessions(monotonicMs, always?.kept);
  const lan = createLan(network, () => services);
  let loopback: Listener | null = null;
  let trouble: Text = "";
  const endTemporary = (): void => {
    if (!lan.isPermanent()) lan.close();
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
    ...permanentAccess({ always, lan, sessions }),
    access() {
      const open = lan.state();
      const network = open === null ? "closed" : open.for_ms === null ? "always" : "timed";
      const scraper = scraped?.();
      const access = { network, urls: open?.urls ?? [], devices: always?.kept.count() ?? 0 } as const;
      return scraper === undefined ? access : { ...access, scraped: scraper };
    },
    async open(how) {
      // Opens the listener for a temporary PIN only if it isn't open permanently, because the PIN's end would close it.
      if (how.lan && !lan.isPermanent()) await lan.open({ for_ms: how.for_ms, over: endTemporary });
      else if (!lan.isPermanent()) lan.close();
      return { pin: sessions.open(how.for_ms, how.pin), ...state() };
    },
    close() {
      endTemporary();
      always?.kept.endAll();
    },
  };
  const services = { ...given, sessions, page } satisfies Services;
  try {
    loopback = await serveLoopback(port, services);
  } catch (error) {
    trouble = message("serve.port", { port, reason: errorText(error) });
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

/** Opens the page on the network permanently, and lists the devices with stored sessions. */
function permanentAccess({
  always,
  lan,
  sessions,
}: {
  readonly always: AlwaysOpen | undefined;
  readonly lan: ReturnType<typeof createLan>;
  readonly sessions: Sessions;
}): Pick<PageListener, "network" | "keepOpen" | "endSession"> {
  return {
    network: (token) => ({
      always: lan.isPermanent(),
      whose: always?.said.by_file === null ? "set_up" : "file",
      has_pin: hasPin(always),
      urls: lan.state()?.urls ?? [],
      devices: always?.kept.list(token) ?? [],
    }),
    async keepOpen(on) {
      const { by_file, file } = always?.said ?? { by_file: null, file: "" };
      if (by_file !== null && by_file !== on) throw new Refusal(409, message("ask.network_fixed", { file }));
      if (on === lan.isPermanent()) return;
      const pin = on ? (always?.pin() ?? null) : null;
      if (on && pin === null) throw new Refusal(409, message("ask.network_no_pin"));
      if (on) await lan.open(null);
      else lan.close();
      sessions.setPermanent(pin);
      if (by_file === null && always?.said.is_on() !== on) always?.said.set(on);
    },
    endSession: (id) => always?.kept.end(id) ?? false,
  };
}

/** Returns whether a permanent PIN is set. An unusable PIN file counts as none; its error is reported when the PIN is needed. */
function hasPin(always: AlwaysOpen | undefined): boolean {
  try {
    return (always?.pin() ?? null) !== null;
  } catch {
    return false;
  }
}
