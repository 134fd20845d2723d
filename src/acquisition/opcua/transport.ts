import { EventEmitter } from "node:events";
import { connect, type Socket } from "node:net";

import { LinkError } from "../../domain/link-error.ts";
import { quietly, type Transport } from "./library.ts";
import { helloFrame, LIMITS, parseAck, parseError, takeFrames, typeOf } from "./uacp.ts";

/**
 * The TCP connection under a secure channel. It stands in for the library's own because that one takes its limits from
 * the server's answer, lets an answer nobody asked for end the process, and can't be ended while it connects.
 */
export interface UacpTransport {
  /** What the library sees. */
  readonly transport: Transport;
  /** Ends the connection at once; `onEnd` is told the first reason only. */
  end(error: LinkError): void;
}

export interface UacpOptions {
  readonly onEnd: (error: LinkError) => void;
  /** Whether a request waits for its answer; an answer at any other time ends the connection. */
  readonly isAsked: () => boolean;
}

type Done = (error?: Error | null) => void;
type Handler = Parameters<EventEmitter["on"]>[1];

interface Wire {
  socket: Socket | null;
  rest: Buffer;
  /** Largest chunk that the server takes; null: it hasn't answered the hello. */
  chunk_bytes: number | null;
  connected: Done | null;
  /** Frames since we last sent something: an answer has no more than so many chunks. */
  frames: number;
  ended: LinkError | null;
}

export function uacpTransport({ onEnd, isAsked }: UacpOptions): UacpTransport {
  const events = new EventEmitter();
  const wire: Wire = {
    socket: null,
    rest: Buffer.alloc(0),
    chunk_bytes: null,
    connected: null,
    frames: 0,
    ended: null,
  };
  const end = (error: LinkError): void => {
    if (wire.ended !== null) return;
    wire.ended = error;
    wire.socket?.destroy();
    onEnd(error);
    const connected = wire.connected;
    wire.connected = null;
    if (connected !== null) connected(error);
    else events.emit("close", error);
  };
  const take = (frame: Buffer): void => {
    wire.frames++;
    const unasked = typeOf(frame) === "MSG" && !isAsked();
    if (unasked || wire.frames > LIMITS.chunks) {
      const what = unasked ? "an answer that nobody asked for" : `an answer of more than ${LIMITS.chunks} chunks`;
      end(new LinkError("malformed", `the server sent ${what}`));
      return;
    }
    if (wire.chunk_bytes === null) greeted(wire, frame, end);
    else if (typeOf(frame) === "ERR") end(parseError(frame));
    else quietly(() => events.emit("chunk", frame));
  };
  const receive = (bytes: Buffer): void => {
    const { frames, rest, fault } = takeFrames(wire.rest.length === 0 ? bytes : Buffer.concat([wire.rest, bytes]));
    wire.rest = rest;
    try {
      for (const frame of frames) if (wire.ended === null) take(frame);
    } catch (cause) {
      end(new LinkError("malformed", "the server sent an answer that can't be understood", cause));
    }
    if (fault !== null) end(fault);
  };
  const dial = (endpoint: string, done: Done): void => {
    if (wire.ended !== null) {
      done(wire.ended);
      return;
    }
    wire.connected = done;
    const { hostname, port } = new URL(endpoint);
    const socket = connect({ host: hostname.replace(/^\[|\]$/g, ""), port: Number(port || DEFAULT_PORT) });
    wire.socket = socket;
    socket.setNoDelay(true);
    socket.on("connect", () => socket.write(helloFrame(endpoint)));
    socket.on("data", receive);
    socket.on("error", (error: NodeJS.ErrnoException) => end(socketError(error, wire.chunk_bytes !== null)));
    socket.on("close", () => end(new LinkError("closed", "the server closed the connection")));
  };
  return { end, transport: transportOver(wire, { events, dial, end }) };
}

const DEFAULT_PORT = 4840;

function greeted(wire: Wire, frame: Buffer, end: (error: LinkError) => void): void {
  const ack = parseAck(frame);
  if (ack instanceof LinkError) {
    end(ack);
    return;
  }
  wire.chunk_bytes = ack;
  const connected = wire.connected;
  wire.connected = null;
  connected?.();
}

function socketError(error: NodeJS.ErrnoException, stood: boolean): LinkError {
  const { code = "", message } = error;
  if (code === "ECONNRESET" || code === "EPIPE") return new LinkError("reset", message, error);
  if (code === "ETIMEDOUT") return new LinkError("timeout", message, error);
  return new LinkError(stood ? "reset" : "refused", message === "" ? code : message, error);
}

interface Acts {
  readonly events: EventEmitter;
  readonly dial: (endpoint: string, done: Done) => void;
  readonly end: (error: LinkError) => void;
}

/** The shape that the library wants, over our own connection. */
function transportOver(wire: Wire, { events, dial, end }: Acts): Transport {
  const closed = (): LinkError => new LinkError("closed", "closed by the gateway");
  const sizes = {
    receiveBufferSize: LIMITS.chunk_bytes,
    sendBufferSize: LIMITS.chunk_bytes,
    maxMessageSize: LIMITS.message_bytes,
    maxChunkCount: LIMITS.chunks,
  };
  const transport = {
    name: "uacp",
    protocolVersion: 0,
    timeout: 0,
    numberOfRetry: 0,
    endpointUrl: "",
    serverUri: "",
    bytesRead: 0,
    bytesWritten: 0,
    chunkReadCount: 0,
    chunkWrittenCount: 0,
    ...sizes,
    get parameters() {
      return { protocolVersion: 0, ...sizes, sendBufferSize: wire.chunk_bytes ?? LIMITS.chunk_bytes };
    },
    connect(endpoint: string, done: Done) {
      this.endpointUrl = endpoint;
      dial(endpoint, done);
    },
    disconnect(done: Done) {
      end(closed());
      done();
    },
    dispose: () => end(closed()),
    write: (chunk: Buffer, done?: Done) => {
      wire.frames = 0;
      wire.socket?.write(chunk);
      done?.();
    },
    prematureTerminate: (error: Error) => end(new LinkError("malformed", error.message, error)),
    forceConnectionBreak: () => end(closed()),
    isValid: () => wire.chunk_bytes !== null && wire.ended === null,
    isDisconnecting: () => wire.ended !== null,
    getTransportSettings: () => ({ maxMessageSize: LIMITS.message_bytes, maxChunkCount: LIMITS.chunks }),
    on: (name: string, handler: Handler) => void events.on(name, handler),
    once: (name: string, handler: Handler) => void events.once(name, handler),
    removeListener: (name: string, handler: Handler) => void events.removeListener(name, handler),
  };
  // Its chained `on` isn't used by the library, and `parameters` is read for these very fields.
  return transport as unknown as Transport;
}
