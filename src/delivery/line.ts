import type { Agent as PlainAgent } from "node:http";
import type { Agent, AgentOptions } from "node:https";
import { connect, type Socket } from "node:net";
import { PassThrough } from "node:stream";
import { TLSSocket } from "node:tls";
import type { Meter, Purpose, SharedOut } from "../domain/traffic.ts";
import type { Milliseconds } from "../domain/units.ts";

/**
 * TCP connections whose bytes are counted from the first one on. TLS is added after the TCP connection is established, because a TLS socket
 * only reports the bytes of its contents. It is not added earlier: if the first of several addresses fails, Node replaces the connection's
 * handle, and crashes on the old handle that TLS holds.
 */

/** `getBuiltinModule`, because an import of node:http would load its WebSocket and with it undici: 14 MB and 40 ms of CPU. */
const { Agent: HttpAgent } = process.getBuiltinModule("node:http");
const { Agent: HttpsAgent } = process.getBuiltinModule("node:https");

/** The meter that counts a connection's bytes, and the purpose of these bytes. */
export interface Counted {
  readonly meter: Meter;
  readonly purpose: Purpose | SharedOut;
}

interface Opening {
  /** Deadline of the TCP connection. The TLS handshake after it has a deadline of the same length. */
  readonly within_ms: Milliseconds;
  /** The meter for the connection's bytes. Absent: the bytes aren't counted. */
  readonly counted?: Counted | undefined;
}

export interface LineTo extends Opening {
  readonly host: string;
  readonly port: number;
}

type Settle = (error: Error | null, socket?: Socket) => void;

/** A connection that is being opened. Destroying it cancels it. */
interface Connecting {
  destroy(reason?: Error): unknown;
  once(event: "connect" | "close", done: () => void): unknown;
}

/** Opens a connection. `settle` is called once, but not if the returned socket is destroyed without an error first. */
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

/** Destroys a TLS connection whose handshake isn't done in time, because a server that never answers must not block a request. */
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
  /** Ends all connections. Requests that wait for a new connection fail with the reason. */
  close(reason: Error): void;
}

/**
 * Returns an agent that keeps connections alive and opens new connections with `open`. It doesn't limit their number. `secure`: the TLS
 * options; null: without TLS.
 */
export function lineAgent(
  secure: AgentOptions | null,
  opening: Opening,
  open: (to: LineTo, settle: Settle) => Connecting = openLine,
): Connections {
  const agent = secure === null ? new HttpAgent({ keepAlive: true }) : new HttpsAgent({ keepAlive: true, ...secure });
  const wrap = agent.createConnection.bind(agent);
  // Connections that are being opened, which the agent itself doesn't know.
  const connecting = new Set<Connecting>();
  agent.createConnection = (target, settle) => {
    const port = Number(target.port ?? (secure === null ? 80 : 443));
    const line = open({ ...opening, host: target.host ?? "", port }, (error, socket) => {
      // Passes a stream only because the type requires one. After an error, it is ignored.
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
      // Ends the connections that are being opened. Node ends a request only through its connection, so a request that waits for one would
      // never end.
      for (const line of connecting) line.destroy(reason);
      agent.destroy();
    },
  };
}

/** Returns a function that runs at most `most` actions at once. Further actions wait in their order of arrival. */
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
