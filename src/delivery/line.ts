import type { Agent as PlainAgent } from "node:http";
import type { Agent, AgentOptions } from "node:https";
import { connect, type Socket } from "node:net";
import { PassThrough } from "node:stream";
import { TLSSocket } from "node:tls";
import type { Meter, Purpose, SharedOut } from "../domain/traffic.ts";
import type { Milliseconds } from "../domain/units.ts";

/**
 * Connections as bare lines that are counted from their first byte on. TLS comes over one that stands: its own socket tells of the
 * contents alone. Not over one that is still connecting: where the first of several addresses fails, Node gives that another
 * handle, and dies by the one that TLS holds.
 */

/** An import of node:http would load its WebSocket, and with it undici: 14 MB and 40 ms of CPU. */
const { Agent: HttpAgent } = process.getBuiltinModule("node:http");
const { Agent: HttpsAgent } = process.getBuiltinModule("node:https");

/** Who counts a connection, and what for. */
export interface Counted {
  readonly meter: Meter;
  readonly purpose: Purpose | SharedOut;
}

interface Opening {
  /** The line must stand within this; with TLS that comes on top. */
  readonly within_ms: Milliseconds;
  /** Absent: it isn't counted. */
  readonly counted?: Counted | undefined;
}

export interface LineTo extends Opening {
  readonly host: string;
  readonly port: number;
}

/** Opens a line; `settle` is called once. Destroying what is returned before takes it back, without a word. */
export function openLine(
  { host, port, within_ms, counted }: LineTo,
  settle: (error: Error | null, socket?: Socket) => void,
): Socket {
  const socket = connect({ host, port, noDelay: true });
  counted?.meter.count(socket, counted.purpose);
  const late = Object.assign(new Error(none(within_ms)), { code: "ETIMEDOUT" });
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

/** A server that takes a connection and never says who it is must not hold anybody up. */
export function secureWithin(socket: TLSSocket, within_ms: Milliseconds): void {
  const timer = setTimeout(() => socket.destroy(new Error(none(within_ms))), within_ms);
  for (const over of ["secureConnect", "close"]) socket.once(over, () => clearTimeout(timer));
}

function none(within_ms: Milliseconds): string {
  return `no connection within ${within_ms / 1000} s`;
}

/** Keeps the connections of one client. */
export interface Connections {
  readonly agent: PlainAgent | Agent;
  /** Ends them all; those who wait for one that is still to come hear of the reason. */
  close(reason: Error): void;
}

/** Connections over such lines; how many there are is the client's to bound. `secure` null: without TLS. */
export function lineAgent(secure: AgentOptions | null, opening: Opening): Connections {
  const kept = { keepAlive: true };
  const agent = secure === null ? new HttpAgent(kept) : new HttpsAgent({ ...kept, ...secure });
  const own = agent.createConnection.bind(agent);
  // A line that is still to come is in no agent's hands.
  const coming = new Set<Socket>();
  agent.createConnection = (target, settle) => {
    const port = Number(target.port ?? (secure === null ? 80 : 443));
    const line = openLine({ ...opening, host: target.host ?? "", port }, (error, socket) => {
      // The type wants a stream there; nobody looks at it beside an error.
      if (socket === undefined) return settle?.(error, new PassThrough());
      const over = { ...target, socket };
      const stream = secure === null ? socket : own(over);
      if (stream instanceof TLSSocket) secureWithin(stream, opening.within_ms);
      settle?.(null, stream ?? socket);
    });
    coming.add(line);
    for (const over of ["connect", "close"]) line.once(over, () => coming.delete(line));
    return undefined;
  };
  return {
    agent,
    close(reason) {
      // Node tells a request of its end by its connection: without a word one that has none yet would wait for ever.
      for (const line of coming) line.destroy(reason);
      agent.destroy();
    },
  };
}
