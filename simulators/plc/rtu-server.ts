import { type AddressInfo, createServer, type Socket } from "node:net";
import { noCounts, type ServerCounts } from "./counts.ts";
import { type Device, isWrite, type Request } from "./modbus-frames.ts";
import { type Asked, respond } from "./respond.ts";
import { parseRtu, rtuFrame } from "./rtu-frames.ts";

export interface RtuOptions {
  /** Returns the device with that unit id on the line; null: none, so the line stays silent. */
  readonly deviceOf: (unit: number) => Device | null;
  /** Simulated epoch ms of the memory that a request sees. */
  readonly now: () => number;
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
}

export interface RtuServer {
  readonly counts: ServerCounts;
  close(): Promise<void>;
}

/** RTU frames over TCP, as from a serial device server. */
export interface RtuTcpServer extends RtuServer {
  readonly port: number;
}

interface Line {
  readonly options: RtuOptions;
  readonly counts: ServerCounts;
  readonly over: AbortController;
  readonly write: (bytes: Buffer) => void;
  /** Earlier requests of each unit. */
  readonly asked: Map<number, Asked>;
  rest: Buffer;
  /** Answers are sent in the order of the requests, as on a real line. */
  turn: Promise<void>;
}

async function handle(line: Line, request: Request): Promise<void> {
  const { options, counts } = line;
  const device = options.deviceOf(request.unit);
  if (device === null) return;
  if (device.manners.delay_ms > 0) await options.sleep(device.manners.delay_ms, line.over.signal);
  const asked = line.asked.get(request.unit) ?? { last: null };
  line.asked.set(request.unit, asked);
  const bytes = respond({ device, asked, counts }, request, { now: options.now(), wrap: rtuFrame });
  if (bytes !== null && !line.over.signal.aborted) line.write(bytes);
}

function receive(line: Line, chunk: Buffer): void {
  const { requests, rest, stray } = parseRtu(Buffer.concat([line.rest, chunk]));
  line.rest = rest;
  line.counts.malformed += stray;
  for (const request of requests) {
    line.counts.requests++;
    if (isWrite(request)) line.counts.writes++;
    line.turn = line.turn.then(() => handle(line, request)).catch(() => undefined); // the end of the line interrupts a delay
  }
}

function lineOf(options: RtuOptions, counts: ServerCounts, write: (bytes: Buffer) => void): Line {
  const turn = Promise.resolve();
  return { options, counts, over: new AbortController(), write, asked: new Map(), rest: Buffer.alloc(0), turn };
}

/** Starts devices on a serial line: a real port or one end of a pty pair. Rejects with the system's error. */
export async function startRtuSerial(options: RtuOptions, path: string, baudRate = 19_200): Promise<RtuServer> {
  // Native code, loaded only for a serial line.
  const { SerialPort } = await import("serialport");
  const counts = noCounts();
  const port = new SerialPort({ path, baudRate, parity: "none", autoOpen: false });
  await new Promise<void>((resolve, reject) => port.open((error) => (error === null ? resolve() : reject(error))));
  const line = lineOf(options, counts, (bytes) => void port.write(bytes));
  port.on("data", (chunk: Buffer) => receive(line, chunk));
  port.on("error", () => line.over.abort());
  return {
    counts,
    close: async () => {
      line.over.abort();
      if (port.isOpen) await new Promise<void>((resolve) => port.close(() => resolve()));
    },
  };
}

/**
 * Starts the same devices as RTU over TCP on 127.0.0.1 (port 0: any free port). Every connection reaches the same line.
 */
export async function startRtuTcp(options: RtuOptions, port: number): Promise<RtuTcpServer> {
  const counts = noCounts();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    counts.connections++;
    sockets.add(socket);
    const line = lineOf(options, counts, (bytes) => void socket.write(bytes));
    socket.setNoDelay(true);
    socket.on("data", (chunk) => receive(line, chunk));
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      sockets.delete(socket);
      line.over.abort();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => resolve());
  });
  return {
    port: (server.address() as AddressInfo).port,
    counts,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
