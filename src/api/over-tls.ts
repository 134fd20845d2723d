import type { IncomingMessage, ServerOptions } from "node:http";
import type { Http2ServerRequest, Http2Session, SecureServerOptions } from "node:http2";
import type { Socket } from "node:net";

const { constants, createSecureServer } = process.getBuiltinModule("node:http2");

export type Asking = IncomingMessage | Http2ServerRequest;

/** The members of a response that the server uses. HTTP/1.1 and HTTP/2 both have them. */
export interface Answering {
  readonly headersSent: boolean;
  /** Bytes that the reader has not received yet. */
  readonly writableLength: number;
  writeHead(status: number, headers: Readonly<Record<string, string | number>>): this;
  setHeader(name: string, value: string): unknown;
  write(part: Uint8Array | string, done?: (error?: Error | null) => void): boolean;
  end(body?: Uint8Array | string): unknown;
  destroy(): unknown;
  once(event: "close", listener: () => void): unknown;
  off(event: "close", listener: () => void): unknown;
}

/** Maximum number of concurrent streams of a connection: all files of the first view, and a few requests. */
const MAX_STREAMS = 48;
/** Maximum memory of a connection for headers, streams and unread data, in MB. Node accepts no smaller value. */
const MAX_SESSION_MB = 1;
/**
 * Limits of streams that are opened and then reset, which cost the box more than the sender. A browser resets the requests of a view that
 * is closed.
 */
const RESETS = { streamResetBurst: 100, streamResetRate: 10 };
/** Maximum number of headers in a request. Like the limits below, it is more than any browser needs. */
const MAX_HEADERS = 64;
const MAX_PINGS = 4;
const MAX_SETTINGS = 16;
const MAX_INVALID_FRAMES = 20;

interface Bounds {
  readonly http1: Required<
    Pick<
      ServerOptions,
      "headersTimeout" | "requestTimeout" | "connectionsCheckingInterval" | "keepAliveTimeout" | "maxHeaderSize"
    >
  >;
  readonly tls: Pick<SecureServerOptions, "key" | "cert" | "minVersion" | "handshakeTimeout">;
}

/**
 * Creates the page's server for the network. With HTTP/2, a phone loads all files of the first view at once over one connection; other
 * clients use HTTP/1.1. The same limits apply to both.
 */
export function createTlsServer({ http1, tls }: Bounds, handler: (request: Asking, response: Answering) => void) {
  const options: SecureServerOptions = {
    ...http1,
    ...tls,
    allowHTTP1: true,
    settings: { maxConcurrentStreams: MAX_STREAMS, maxHeaderListSize: http1.maxHeaderSize, enablePush: false },
    maxSessionMemory: MAX_SESSION_MB,
    maxHeaderListPairs: MAX_HEADERS,
    maxOutstandingPings: MAX_PINGS,
    maxSettings: MAX_SETTINGS,
    maxSessionInvalidFrames: MAX_INVALID_FRAMES,
    ...RESETS,
  };
  const server = createSecureServer(options, handler);
  /** Number of open streams by connection. */
  const busy = new Map<Http2Session, number>();
  server.on("session", (session) => {
    busy.set(session, 0);
    session.once("close", () => busy.delete(session));
  });
  server.on("stream", (stream) => {
    const { session } = stream;
    if (session === undefined) return;
    busy.set(session, (busy.get(session) ?? 0) + 1);
    const late = setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), http1.requestTimeout).unref();
    if (stream.endAfterHeaders) clearTimeout(late);
    stream.once("end", () => clearTimeout(late));
    stream.once("close", () => {
      clearTimeout(late);
      const left = busy.get(session);
      if (left !== undefined) busy.set(session, left - 1);
    });
  });
  // Closes idle connections, as HTTP/1.1 does.
  server.setTimeout(http1.keepAliveTimeout);
  server.on("timeout", (session: Http2Session) => {
    if (busy.get(session) === 0) session.destroy();
  });
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  return Object.assign(server, { closeAllConnections: () => sockets.forEach((socket) => socket.destroy()) });
}

export type TlsServer = ReturnType<typeof createTlsServer>;
