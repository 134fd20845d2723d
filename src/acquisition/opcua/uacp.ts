import { LinkError } from "../../domain/link-error.ts";

/** Framing of OPC UA TCP (OPC 10000-6, 7.1): hello, acknowledge, error, and the bounds of every chunk. Pure. */

/** What we announce and hold a server to: a booth's tags in one answer take a few kilobytes. */
export const LIMITS = {
  chunk_bytes: 65_536,
  message_bytes: 1_048_576,
  chunks: 32,
} as const;

/** The least that the standard lets a peer take. */
const MIN_BUFFER_BYTES = 8192;
const HEADER_BYTES = 8;
const ACK_BYTES = 28;
/** Texts of a server are shown to people; more than this helps nobody. */
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

/** The answer to a hello: the largest chunk that the server takes. For what it sends, our own limits hold. */
export function parseAck(frame: Buffer): number | LinkError {
  if (typeOf(frame) === "ERR") return parseError(frame);
  if (typeOf(frame) !== "ACK" || frame.length !== ACK_BYTES) {
    return new LinkError("malformed", "the answer to the hello is none of OPC UA");
  }
  const receive = frame.readUInt32LE(12);
  if (receive < MIN_BUFFER_BYTES) return new LinkError("malformed", `the server takes chunks of ${receive} bytes only`);
  return Math.min(receive, LIMITS.chunk_bytes);
}

/** What a server says before it hangs up. Trust and sessions are told apart by the status code. */
export function parseError(frame: Buffer): LinkError {
  if (frame.length < 16) return new LinkError("malformed", "an error message of the server is cut off");
  const code = frame.readUInt32LE(8);
  const length = Math.max(0, frame.readInt32LE(12));
  const said = frame.toString("utf8", 16, Math.min(frame.length, 16 + length)).slice(0, MAX_REASON_CHARS);
  const text = said.replace(/[\p{Cc}\p{Cf}]/gu, " ").trim();
  return new LinkError("closed", `the server hung up: ${statusText(code)}${text === "" ? "" : `, "${text}"`}`);
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

/** HEL, ACK, ERR, OPN, MSG or CLO. */
export function typeOf(frame: Buffer): string {
  return frame.toString("latin1", 0, 3);
}

export interface Frames {
  readonly frames: readonly Buffer[];
  readonly rest: Buffer;
  /** Bytes came that belong to no frame; the connection is not to be trusted any more. */
  readonly fault: LinkError | null;
}

/** Whole frames out of what has come. A frame over the limit is refused by its header alone, before its bytes come. */
export function takeFrames(bytes: Buffer): Frames {
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

function headerFault(header: string, length: number): string | null {
  if (!/^((ACK|ERR|OPN|CLO)F|MSG[FCA])$/.test(header)) return "the peer doesn't speak OPC UA";
  if (length > LIMITS.chunk_bytes) return `a chunk of ${length} bytes, more than the ${LIMITS.chunk_bytes} agreed on`;
  return length < HEADER_BYTES ? `a chunk of ${length} bytes is none` : null;
}
