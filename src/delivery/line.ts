import type { Agent as PlainAgent } from "node:http";
import type { Agent, AgentOptions } from "node:https";
import { connect, type Socket } from "node:net";
import { PassThrough } from "node:stream";
import { TLSSocket } from "node:tls";
import type { Meter, Purpose, SharedOut } from "../domain/traffic.ts";
import type { Milliseconds } from "../domain/units.ts";

/**
 * TCP connections whose bytes are counted from the first one. TLS is put on a connection that is established: a TLS socket reports only
 * the bytes of its contents. It is not put on one that is still connecting: if the first of several addresses fails, Node gives
 * that connection another handle, and crashes on the one that TLS holds.
 */

/** Without an import of node:http, which would load its WebSocket and with it undici: 14 MB and 40 ms of CPU. */
const { Agent: HttpAgent } = process.getBuiltinModule("node:http");
const { Agent: HttpsAgent } = process.getBuiltinModule("node:https");

/** The meter that counts a connection, and the purpose it counts it for. */
export interface Counted {
  readonly meter: Meter;
  readonly purpose: Purpose | SharedOut;
}

interface Opening {
  /** Time for the connection; TLS has the same time once more. */
  readonly within_ms: Milliseconds;
  /** Absent: the bytes aren't counted. */
  readonly counted?: Counted | undefined;
}

export interface LineTo extends Opening {
  readonly host: string;
  readonly port: number;
}

type Settle = (error: Error | null, socket?: Socket) => void;

/** A connection in the making. Destroying it cancels it. */
interface Connecting {
  destroy(reason?: Error): unknown;
  once(event: "connect" | "close", done: () => void): unknown;
}

/** Opens a connection; `settle` is called once. If what it returns is destroyed first without an error, `settle` isn't called. */
export function openLine({ host, port, within_ms, counted }: LineTo, settle: Settle): Socket {
  const socket = connect({ host, port, noDelay: true });
  counted?.meter.count(socket, counted.purpose);
  const late = Object.assign(new Error(noConnectionText(within_ms)), { code: "ETIMEDOUT" });
  const timer = setTimeout(() => socket.destroy(late), within_ms);
  const fail = (error: Error): void => settle(error);
  socket.once("error", fail);
  socket.once("close", () => clearTimeout(timer));
  socket.once("connect", () => {
    clearTimeout(timer);
    socket.off("error", fail);
    settle(null, socket);
  });
  return socket;
}

/** Destroys a TLS connection whose handshake isn't done in time: a server that never answers must not block a request. */
function secureWithin(socket: TLSSocket, within_ms: Milliseconds): void {
  const timer = setTimeout(() => socket.destroy(new Error(noConnectionText(within_ms))), within_ms);
  for (const event of ["secureConnect", "close"]) socket.once(event, () => clearTimeout(timer));
}

function noConnectionText(within_ms: Milliseconds): string {
  return `no connection within ${within_ms / 1000} s`;
}

/** The connections of one client. */
export interface Connections {
  readonly agent: PlainAgent | Agent;
  /** Ends them all. Requests that wait for a connection in the making fail with the reason. */
  close(reason: Error): void;
}

/**
 * Returns an agent that keeps connections alive and opens new ones by `open`. It has no bound of its own. `secure`: the TLS options; null:
 * without TLS.
 */
export function lineAgent(
  secure: AgentOptions | null,
  opening: Opening,
  open: (to: LineTo, settle: Settle) => Connecting = openLine,
): Connections {
  const agent = secure === null ? new HttpAgent({ keepAlive: true }) : new HttpsAgent({ keepAlive: true, ...secure });
  const wrap = agent.createConnection.bind(agent);
  // The agent doesn't know of connections that are still in the making.
  const connecting = new Set<Connecting>();
  agent.createConnection = (target, settle) => {
    const port = Number(target.port ?? (secure === null ? 80 : 443));
    const line = open({ ...opening, host: target.host ?? "", port }, (error, socket) => {
      // The type requires a stream, which is ignored if there is an error.
      if (socket === undefined) return settle?.(error, new PassThrough());
      const over = { ...target, socket };
      const stream = secure === null ? socket : wrap(over);
      if (stream instanceof TLSSocket) secureWithin(stream, opening.within_ms);
      settle?.(null, stream ?? socket);
    });
    connecting.add(line);
    for (const event of ["connect", "close"] as const) line.once(event, () => connecting.delete(line));
    return undefined;
  };
  return {
    agent,
    close(reason) {
      // Node ends a request by its connection: a request that has none yet would wait for ever.
      for (const line of connecting) line.destroy(reason);
      agent.destroy();
    },
  };
}

/** Returns a function that runs at most `most` actions at once, and the others in the order in which they came. */
export function limitConcurrency(most: number): <T>(run: () => Promise<T>) => Promise<T> {
  const queue: (() => void)[] = [];
  let free = most;
  return async (run) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => queue.push(resolve));
    try {
      return await run();
    } finally {
      const next = queue.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}
