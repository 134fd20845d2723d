import { createServer, type Server, type Socket } from "node:net";
import { noCounts, type ServerCounts } from "./counts.ts";
import { type Device, frame, isWrite, parseFrames, type Request } from "./modbus-frames.ts";
import { type Asked, respond } from "./respond.ts";

export interface ServerOptions {
  /** The device, whose manners apply to connections, and to requests without `deviceOf`. */
  readonly device: Device;
  /**
   * Returns the device of a unit id, as behind a serial gateway; null: no device, so no answer. Absent: always
   * `device`.
   */
  readonly deviceOf?: (unit: number) => Device | null;
  /** Simulated epoch ms of the memory that a request sees. */
  readonly now: () => number;
  /** Simulated time, for delays and idle closing. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** dark: no power, connections are reset. silent: the cable is unplugged, nothing is answered. */
  readonly link: () => "up" | "dark" | "silent";
}

interface ModbusServer {
  readonly port: number;
  readonly counts: ServerCounts;
  /** Number of open sockets. */
  open(): number;
  /** Stops listening and ends every socket, so that connections are refused. The port stays reserved for `online`. */
  offline(): Promise<void>;
  /** Listens again on the same port. */
  online(): Promise<void>;
  /** Ends all parts. May be called more than once. */
  close(): Promise<void>;
}

/** The state that all connections share. */
interface Service {
  readonly options: ServerOptions;
  readonly counts: ServerCounts;
}

interface Connection {
  readonly socket: Socket;
  /** Aborted when the socket is closed. */
  readonly gone: AbortController;
  /** Bytes of an incomplete request. */
  rest: Buffer;
  readonly asked: Asked;
  idle: AbortController | null;
  /** Answers are sent in the order of the requests. */
  turn: Promise<void>;
}

const HOST = "127.0.0.1";

/** Writes each piece in its own turn of the event loop, so that TCP sends them separately. */
async function sendPieces(socket: Socket, bytes: Buffer, size: number): Promise<void> {
  for (let at = 0; at < bytes.length && !socket.destroyed; at += size) {
    await new Promise<void>((resolve) => socket.write(bytes.subarray(at, at + size), () => resolve()));
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

async function handle(service: Service, connection: Connection, request: Request): Promise<void> {
  const { options, counts } = service;
  const device = options.deviceOf === undefined ? options.device : options.deviceOf(request.unit);
  if (device === null) return;
  const { manners } = device;
  const { socket, gone } = connection;
  if (manners.delay_ms > 0) await options.sleep(manners.delay_ms, gone.signal);
  if (socket.destroyed) return;
  const link = options.link();
  if (link === "silent") return;
  if (link === "dark" || manners.close_on_request) {
    socket.resetAndDestroy();
    return;
  }
  const bytes = respond({ device, asked: connection.asked, counts }, request, { now: options.now(), wrap: frame });
  if (!bytes) return;
  if (manners.split_bytes === null) socket.write(bytes);
  else await sendPieces(socket, bytes, manners.split_bytes);
}

function armIdleClose(options: ServerOptions, connection: Connection): void {
  const { idle_close_ms } = options.device.manners;
  connection.idle?.abort();
  connection.idle = null;
  if (idle_close_ms === null) return;
  const idle = new AbortController();
  connection.idle = idle;
  options.sleep(idle_close_ms, idle.signal).then(
    () => connection.socket.end(),
    () => undefined, // aborted: a request arrived, or the socket is closed
  );
}

function receive(service: Service, connection: Connection, chunk: Buffer): void {
  const { options, counts } = service;
  const parsed = parseFrames(connection.rest.length === 0 ? chunk : Buffer.concat([connection.rest, chunk]));
  connection.rest = parsed.rest;
  armIdleClose(options, connection);
  for (const request of parsed.requests) {
    counts.requests++;
    if (isWrite(request)) counts.writes++;
    connection.turn = connection.turn
      .then(() => handle(service, connection, request))
      .catch(() => void connection.socket.destroy()); // the end of the socket interrupts a delay
  }
  if (parsed.malformed) {
    counts.malformed++;
    connection.socket.destroy();
  }
}

function serve(service: Service, socket: Socket): void {
  const connection: Connection = {
    socket,
    gone: new AbortController(),
    rest: Buffer.alloc(0),
    asked: { last: null },
    idle: null,
    turn: Promise.resolve(),
  };
  socket.setNoDelay(true);
  armIdleClose(service.options, connection);
  socket.on("error", () => socket.destroy());
  socket.on("close", () => {
    connection.gone.abort();
    connection.idle?.abort();
  });
  socket.on("data", (chunk) => receive(service, connection, chunk));
}

async function listen(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, HOST, () => {
      server.removeListener("error", reject);
      resolve();
    });
  });
  const address = server.address();
  return typeof address === "object" && address ? address.port : port;
}

/**
 * Starts a Modbus TCP server on 127.0.0.1 (port 0: any free port). It follows the specification except for
 * `device.manners`. Rejects with the system's error if the port is occupied.
 */
export async function startModbusServer(options: ServerOptions, wantedPort: number): Promise<ModbusServer> {
  const counts = noCounts();
  const sockets = new Set<Socket>();
  const accept = (socket: Socket): void => {
    counts.connections++;
    if (options.link() === "dark" || sockets.size >= options.device.manners.max_connections) {
      counts.refused++;
      socket.on("error", () => socket.destroy());
      socket.resetAndDestroy();
      return;
    }
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    serve({ options, counts }, socket);
  };
  let server: Server | null = createServer(accept);
  const port = await listen(server, wantedPort);
  const offline = async (): Promise<void> => {
    const closing = server;
    server = null;
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => (closing ? closing.close(() => resolve()) : resolve()));
  };
  return {
    port,
    counts,
    open: () => sockets.size,
    offline,
    online: async () => {
      if (server) return;
      const fresh = createServer(accept);
      await listen(fresh, port);
      server = fresh;
    },
    close: offline,
  };
}
