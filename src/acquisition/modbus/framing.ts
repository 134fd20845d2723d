import { AdvisedLinkError, LinkError } from "../../domain/link-error.ts";
import { DEVICE_ID_CODES, DEVICE_ID_FUNCTION, DEVICE_ID_MEI, identificationLength } from "./device-id.ts";
import { say } from "../../domain/sentences.ts";

/** How requests and answers stand in the bytes of a connection. */
export interface Framing {
  /** A request is under way. */
  readonly awaiting: boolean;
  /** Takes a request as modbus-serial writes it (RTU with CRC); gives what goes over the wire, null where it may not be sent. */
  request(request: Buffer): Buffer | null;
  /**
   * Takes what has arrived. Null: not whole yet. Else the answer as modbus-serial wants it, RTU with CRC, valid until the
   * next call.
   */
  take(bytes: Buffer, count: number): Buffer | LinkError | null;
}

/** Unit, function, address, count: what every read request has, without CRC. */
const READ_REQUEST_BYTES = 6;
/** Unit, function, MEI type, read code, first object. */
const IDENTIFY_REQUEST_BYTES = 5;
export const CRC_BYTES = 2;

export const EXCEPTION_BIT = 0x80;

/** What the answer to the request under way must look like. */
export interface Expected {
  readonly transaction: number;
  readonly unit: number;
  readonly code: number;
  /** Bytes of data in a good answer. */
  readonly dataBytes: number;
  /** Identification (43/14) alone, whose length only the answer tells: the read code that was asked with. */
  readonly identify?: number;
  /** Transaction id of the answer minus ours, as configured; absent: 0. */
  readonly offset?: number;
}

export type Verdict =
  | { readonly kind: "partial" }
  /** The frame is whole and fits; its unit-and-PDU part is bytes [6, end). */
  | { readonly kind: "answer"; readonly end: number }
  | {
      readonly kind: "malformed";
      readonly reason: string;
      /** What to do, if the answer tells; absent: what is to do about any wrong answer. */
      readonly advice?: string;
    };

export const PARTIAL: Verdict = { kind: "partial" };

export function malformed(reason: string): Verdict {
  return { kind: "malformed", reason };
}

/**
 * Whether a request may be sent, and what its good answer must look like then. Null for anything but the four functions that read
 * and the device's identification (43 with MEI type 14). Every framing asks here before a byte leaves, and nobody else does: this is
 * what makes the agent read-only.
 * @param request as modbus-serial writes it: RTU with CRC
 */
export function expectedAnswer(request: Uint8Array, transaction: number): Expected | null {
  const unit = request[0] ?? 0;
  const code = request[1] ?? 0;
  if (code === DEVICE_ID_FUNCTION) return expectedIdentification(request, transaction);
  const count = ((request[4] ?? 0) << 8) | (request[5] ?? 0);
  if (request.length !== READ_REQUEST_BYTES + CRC_BYTES || code < 1 || code > 4) return null;
  const bits = code <= 2;
  if (count < 1 || count > (bits ? 2000 : 125)) return null;
  return { transaction, unit, code, dataBytes: bits ? Math.ceil(count / 8) : count * 2 };
}

/** MEI type 13 of the same function carries CANopen, writes among it. */
function expectedIdentification(request: Uint8Array, transaction: number): Expected | null {
  const [unit = 0, code = 0, mei = 0, identify = 0] = request;
  const isAsked = identify >= DEVICE_ID_CODES.basic && identify <= DEVICE_ID_CODES.extended;
  if (request.length !== IDENTIFY_REQUEST_BYTES + CRC_BYTES || mei !== DEVICE_ID_MEI || !isAsked) return null;
  return { transaction, unit, code, dataBytes: 0, identify };
}

const POLYNOMIAL = 0xa001;
const TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 1 ? (crc >> 1) ^ POLYNOMIAL : crc >> 1;
  return crc;
});

/** CRC-16/MODBUS of `bytes[start, end)`; by table, since modbus-serial wants one even where TCP carries none. */
export function crc16(bytes: Uint8Array, start: number, end: number): number {
  let crc = 0xffff;
  for (let i = start; i < end; i++) crc = (crc >> 8) ^ (TABLE[(crc ^ (bytes[i] ?? 0)) & 0xff] ?? 0);
  return crc;
}

/**
 * Modbus TCP framing, pure. An answer is taken only if every field of it fits the one request that is under way
 * (Modbus Messaging on TCP/IP Implementation Guide V1.0b, section 3.1.3; Application Protocol V1.1b3, 6.1 to 6.4).
 */

const MAX_TRANSACTION = 0xffff;
/** transaction id 2, protocol id 2, length 2 */
export const MBAP_BYTES = 6;
/** Largest Modbus TCP frame: 7 bytes of header and 253 of PDU. */
const MAX_FRAME_BYTES = 260;
/** Header's length field of the smallest identification and of the largest frame. */
const IDENTIFY_LENGTHS = { min: 8, max: 254 };
/** Unit, function, exception code. */
const EXCEPTION_END = 3;

/** The frame for a request: its CRC dropped, the header put before it. */
function frameRequest(request: Buffer, transaction: number): Buffer {
  const length = request.length - 2;
  const frame = Buffer.allocUnsafe(MBAP_BYTES + length);
  frame.writeUInt16BE(transaction, 0);
  frame.writeUInt16BE(0, 2);
  frame.writeUInt16BE(length, 4);
  request.copy(frame, MBAP_BYTES, 0, length);
  return frame;
}

/** Judges what has come in so far, `inbox[0, size)`; as early as possible, so that no bad length is waited for. */
export function judge(inbox: Buffer, size: number, expected: Expected): Verdict {
  if (size < MBAP_BYTES) return PARTIAL;
  const transaction = inbox.readUInt16BE(0);
  if (transaction !== expected.transaction) {
    return otherTransaction(transaction, expected);
  }
  const protocol = inbox.readUInt16BE(2);
  if (protocol !== 0) return malformed(`protocol id ${protocol}`);
  const length = inbox.readUInt16BE(4);
  if (!isPossible(length, expected)) return malformed(`length ${length} instead of ${3 + expected.dataBytes}`);
  const end = MBAP_BYTES + length;
  if (size < end) return PARTIAL;
  if (size > end) return malformed(`${size - end} bytes too many`);
  return judgeBody(inbox, length, expected);
}

/** A device that numbers answers itself is off by one each time; a late answer is so by chance, so the advice says to look twice. */
function otherTransaction(transaction: number, expected: Expected): Verdict {
  const reason = `transaction ${transaction} instead of ${expected.transaction}`;
  const step = ((transaction - expected.transaction + 0x1_8000) & MAX_TRANSACTION) - 0x8000;
  const offset = (expected.offset ?? 0) + step;
  if (Math.abs(step) !== 1 || Math.abs(offset) > 1) return malformed(reason);
  return { kind: "malformed", reason, advice: say("plc.check.transaction", { offset }) };
}

function isPossible(length: number, expected: Expected): boolean {
  if (length === EXCEPTION_END) return true;
  if (expected.identify === undefined) return length === 3 + expected.dataBytes;
  return length >= IDENTIFY_LENGTHS.min && length <= IDENTIFY_LENGTHS.max;
}

function judgeBody(inbox: Buffer, length: number, expected: Expected): Verdict {
  const unit = inbox.readUInt8(MBAP_BYTES);
  const code = inbox.readUInt8(MBAP_BYTES + 1);
  const third = inbox.readUInt8(MBAP_BYTES + 2);
  const answer: Verdict = { kind: "answer", end: MBAP_BYTES + length };
  if (unit !== expected.unit) {
    const reason = `unit ${unit} instead of ${expected.unit}`;
    return unit === 0 ? { kind: "malformed", reason, advice: say("plc.check.unit_0") } : malformed(reason);
  }
  if (code === (expected.code | EXCEPTION_BIT) && length === EXCEPTION_END) {
    return third === 0 ? malformed("exception 0") : answer;
  }
  if (code !== expected.code) return malformed(`function ${code} instead of ${expected.code}`);
  if (expected.identify !== undefined) {
    const size = MBAP_BYTES + length;
    const found = identificationLength(inbox, { from: MBAP_BYTES + 1, size }, expected.identify);
    return found === length - 1 ? answer : malformed(typeof found === "string" ? found : "an identification cut off");
  }
  if (length !== 3 + expected.dataBytes || third !== expected.dataBytes) {
    return malformed(`${third} bytes of data instead of ${expected.dataBytes}`);
  }
  return answer;
}

/** How a device's answers differ from the standard, as configured. */
export interface AnswerHabits {
  /** Their transaction id minus ours. */
  readonly offset?: number | undefined;
  /** The unit id that they carry instead of ours. */
  readonly unit?: number | undefined;
}

function malformedAnswer({ reason, advice }: Extract<Verdict, { readonly kind: "malformed" }>): LinkError {
  return advice === undefined ? new LinkError("malformed", reason) : new AdvisedLinkError("malformed", reason, advice);
}

/**
 * Modbus TCP: collects the one answer that is awaited; anything else is a LinkError "malformed". Bounded by one frame.
 * @param numbers the last request's, to the same device; it goes on over connections: a gateway that gives a new one the answer
 * meant for the old one is found out
 * @param answers how this device's answers differ from the standard; the frame that is handed on is by the standard
 */
export function mbapFraming(numbers = { last: 0 }, answers: AnswerHabits = {}): Framing {
  const frame = Buffer.alloc(MAX_FRAME_BYTES + CRC_BYTES);
  let size = 0;
  const { offset = 0, unit } = answers;
  let expected: Expected | null = null;
  let asked_unit = 0;
  return {
    get awaiting() {
      return expected !== null;
    },
    request(request) {
      const next = (numbers.last % MAX_TRANSACTION) + 1;
      const usual = expectedAnswer(request, (next + offset) & MAX_TRANSACTION);
      if (usual === null) return null;
      asked_unit = usual.unit;
      expected = { ...usual, offset, unit: unit ?? usual.unit };
      numbers.last = next;
      size = 0;
      return frameRequest(request, next);
    },
    take(bytes, count) {
      if (expected === null) return new LinkError("malformed", say("plc.odd.unasked", { count }));
      if (size + count > MAX_FRAME_BYTES) return new LinkError("malformed", say("plc.odd.too_long"));
      bytes.copy(frame, size, 0, count);
      size += count;
      const verdict = judge(frame, size, expected);
      if (verdict.kind === "partial") return null;
      expected = null;
      if (verdict.kind === "malformed") return malformedAnswer(verdict);
      frame.writeUInt8(asked_unit, MBAP_BYTES);
      frame.writeUInt16LE(crc16(frame, MBAP_BYTES, verdict.end), verdict.end);
      return frame.subarray(MBAP_BYTES, verdict.end + CRC_BYTES);
    },
  };
}
