import { systemErrorText } from "../../domain/system-error.ts";
import { message, type Text } from "../../domain/message.ts";
import { EventEmitter } from "node:events";
import { connect, type Socket } from "node:net";

import { LinkError } from "../../domain/link-error.ts";
import { quietly, type Transport } from "./library.ts";
import type { Milliseconds } from "../../domain/units.ts";

type Done = (error?: Error | null) => void;
type Handler = Parameters<EventEmitter["on"]>[1];

const newWire = () => ({
  socket: null as Socket | null,
  rest: Buffer.alloc(0) as Buffer,
  /** Size of the largest chunk that the server accepts; null: the server hasn't answered the hello yet. */
  chunk_bytes: null as number | null,
  connected: null as Done | null,
  /** Number of frames since our last request. Limits the chunks of an answer. */
  frames: 0,
  ended: null as LinkError | null,
});
type Wire = ReturnType<typeof newWire>;

/**
 * Makes the TCP connection of a secure channel, with the interface of the library's transport. It replaces the library's own transport,
 * which takes its limits from the server's answer and lets an unexpected answer end the process. The library's transport also can't be
 * ended while it connects.
 * @param onEnd called once, with the first reason
 * @param isAsked returns whether a request is pending; an answer at any other time ends the connection
 */
export function uacpTransport(onEnd: (error: LinkError) => void, isAsked: () => boolean) {
  const events = new EventEmitter();
  const wire = newWire();
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
      const text = unasked ? message("plc.opcua.unasked") : message("plc.opcua.many_chunks", { count: LIMITS.chunks });
      end(new LinkError("malformed", text));
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
      end(new LinkError("malformed", message("plc.opcua.odd_answer"), cause));
    }
    if (fault !== null) end(fault);
  };
  const dial = (endpoint: string, done: Done): void => {
    if (wire.ended !== null) {
      done(wire.ended);
      return;
    }
    wire.connected = done;
    const { port } = new URL(endpoint);
    const socket = connect({ host: hostIn(endpoint), port: Number(port || DEFAULT_PORT) });
    wire.socket = socket;
    socket.setNoDelay(true);
    socket.on("connect", () => socket.write(helloFrame(endpoint)));
    socket.on("data", receive);
    socket.on("error", (error: NodeJS.ErrnoException) => end(socketError(error, wire.chunk_bytes !== null)));
    socket.on("close", () => end(new LinkError("closed", message("plc.closed.server"))));
  };
  return { end, transport: transportOver({ wire, events, dial }, end) };
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
  const { code = "" } = error;
  const text = systemErrorText(error);
  if (code === "ECONNRESET" || code === "EPIPE") return new LinkError("reset", text, error);
  if (code === "ETIMEDOUT") return new LinkError("timeout", text, error);
  return new LinkError(stood ? "reset" : "refused", text === "" ? code : text, error);
}

/** Makes the library's transport interface for our own connection. */
function transportOver(
  { wire, events, dial }: { wire: Wire; events: EventEmitter; dial: (endpoint: string, done: Done) => void },
  end: (error: LinkError) => void,
): Transport {
  const close = (): void => end(new LinkError("closed", message("plc.closed.gateway")));
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
      close();
      done();
    },
    dispose: close,
    write: (chunk: Buffer, done?: Done) => {
      wire.frames = 0;
      wire.socket?.write(chunk);
      done?.();
    },
    prematureTerminate: (error: Error) => end(new LinkError("malformed", error.message, error)),
    forceConnectionBreak: close,
    isValid: () => wire.chunk_bytes !== null && wire.ended === null,
    isDisconnecting: () => wire.ended !== null,
    getTransportSettings: () => ({ maxMessageSize: LIMITS.message_bytes, maxChunkCount: LIMITS.chunks }),
    on: (name: string, handler: Handler) => void events.on(name, handler),
    once: (name: string, handler: Handler) => void events.once(name, handler),
    removeListener: (name: string, handler: Handler) => void events.removeListener(name, handler),
  };
  // Casts a partial object, which is enough: the library doesn't chain calls of `on`, and reads only these fields of `parameters`.
  return transport as unknown as Transport;
}

/** Framing of OPC UA TCP (OPC 10000-6, 7.1): hello, acknowledge, error, and the limits of every chunk. Pure except `greetsOpcua`. */

/** Limits that the gateway announces and enforces. A booth's tags in one answer take a few kilobytes. */
export const LIMITS = {
  chunk_bytes: 65_536,
  message_bytes: 1_048_576,
  chunks: 32,
} as const;

/** The standard's minimum for a peer's buffer. */
const MIN_BUFFER_BYTES = 8192;
const HEADER_BYTES = 8;
const ACK_BYTES = 28;
/** Maximum length of a server's text that is shown to people. */
const MAX_REASON_CHARS = 200;

export function helloFrame(endpoint: string): Buffer {
  const url = Buffer.from(endpoint, "utf8");
  const frame = Buffer.alloc(HEADER_BYTES + 24 + url.length);
  frame.write("HELF", 0, "latin1");
  frame.writeUInt32LE(frame.length, 4);
  const fields = [0, LIMITS.chunk_bytes, LIMITS.chunk_bytes, LIMITS.message_bytes, LIMITS.chunks, url.length];
  for (const [i, field] of fields.entries()) frame.writeUInt32LE(field, HEADER_BYTES + 4 * i);
  url.copy(frame, HEADER_BYTES + 24);
  return frame;
}

/**
 * Reads the server's answer to a Hello message. Returns the maximum size of the chunks that we may send: the server's limit, or our own if
 * it is smaller.
 */
export function parseAck(frame: Buffer): number | LinkError {
  if (typeOf(frame) === "ERR") return parseError(frame);
  if (typeOf(frame) !== "ACK" || frame.length !== ACK_BYTES) {
    return new LinkError("malformed", message("plc.odd.hello"));
  }
  const receive = frame.readUInt32LE(12);
  if (receive < MIN_BUFFER_BYTES)
    return new LinkError("malformed", message("plc.opcua.small_chunks", { bytes: receive }));
  return Math.min(receive, LIMITS.chunk_bytes);
}

/** Reads the error message that a server sends before it closes the connection. */
export function parseError(frame: Buffer): LinkError {
  if (frame.length < 16) return new LinkError("malformed", message("plc.opcua.cut_error"));
  const code = frame.readUInt32LE(8);
  const length = Math.max(0, frame.readInt32LE(12));
  const said = frame.toString("utf8", 16, Math.min(frame.length, 16 + length)).slice(0, MAX_REASON_CHARS);
  const text = said.replace(/[\p{Cc}\p{Cf}]/gu, " ").trim();
  const status = statusText(code);
  const reason =
    text === ""
      ? message("plc.opcua.hung_up", { status })
      : message("plc.opcua.hung_up_words", { status, words: text });
  return new LinkError("closed", reason);
}

function statusText(code: number): string {
  const known: Readonly<Record<number, string>> = {
    0x80130000: "BadSecurityChecksFailed",
    0x807d0000: "BadTcpServerTooBusy",
    0x80800000: "BadTcpMessageTooLarge",
    0x80830000: "BadTcpEndpointUrlInvalid",
    0x80ac0000: "BadSecureChannelClosed",
  };
  return known[code] ?? `status 0x${code.toString(16)}`;
}

/** Returns the host in the form of certificates and sockets: an IPv6 address has no brackets. */
export function hostIn(endpoint: string): string {
  return new URL(endpoint).hostname.replace(/^\[|\]$/g, "");
}

/** Returns the type of a frame: HEL, ACK, ERR, OPN, MSG or CLO. */
export function typeOf(frame: Buffer): string {
  return frame.toString("latin1", 0, 3);
}

/**
 * Splits received bytes into whole frames. Rejects a frame over the limit as soon as its header arrives. After a fault (bytes that belong
 * to no frame) the connection must be closed.
 */
export function takeFrames(bytes: Buffer) {
  const frames: Buffer[] = [];
  let at = 0;
  while (bytes.length - at >= HEADER_BYTES) {
    const header = bytes.toString("latin1", at, at + 4);
    const length = bytes.readUInt32LE(at + 4);
    const fault = headerFault(header, length);
    if (fault !== null) return { frames, rest: Buffer.alloc(0), fault: new LinkError("malformed", fault) };
    if (bytes.length - at < length) break;
    frames.push(bytes.subarray(at, at + length));
    at += length;
  }
  return { frames, rest: bytes.subarray(at), fault: null };
}

function headerFault(header: string, length: number): Text | null {
  if (!/^((ACK|ERR|OPN|CLO)F|MSG[FCA])$/.test(header)) return message("plc.opcua.other_peer");
  if (length > LIMITS.chunk_bytes) return message("plc.opcua.long_chunk", { length, most: LIMITS.chunk_bytes });
  return length < HEADER_BYTES ? message("plc.opcua.no_chunk", { length }) : null;
}

/**
 * Returns whether an OPC UA server answers at this address: it acknowledges a hello, or rejects the hello with an error message. Never
 * rejects.
 */
export function greetsOpcua({ host, port }: { host: string; port: number }, within_ms: Milliseconds) {
  return new Promise<boolean>((resolve) => {
    const socket = connect({ host, port, noDelay: true });
    let received = Buffer.alloc(0);
    const done = (answer: boolean): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    const timer = setTimeout(() => done(false), within_ms);
    socket.on("connect", () => socket.write(helloFrame(`opc.tcp://${host}:${port}`)));
    socket.on("error", () => done(false));
    socket.on("close", () => done(false));
    socket.on("data", (bytes) => {
      received = Buffer.concat([received, bytes]);
      const { frames, fault } = takeFrames(received);
      const [first] = frames;
      if (first !== undefined) done(typeOf(first) === "ACK" || typeOf(first) === "ERR");
      else if (fault !== null) done(false);
    });
  });
}
