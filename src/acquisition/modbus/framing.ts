import { message, type Text } from "../../domain/message.ts";
import { AdvisedLinkError, LinkError } from "../../domain/link-error.ts";
import { isBitTable, type ModbusTable } from "../../domain/profile.ts";
import type { RegisterAnswer } from "../port.ts";
import type { Block } from "../rules/plan.ts";
import { DEVICE_ID_CODES, DEVICE_ID_FUNCTION, DEVICE_ID_MEI, identificationLength } from "./device-id.ts";

/**
 * Turns requests into frames and bytes into answers, one request at a time. Each connection has its own framing: `mbapFraming` of this file
 * for Modbus TCP, `rtuFraming` of `rtu.ts` for serial lines. Both are pure: they do no I/O.
 *
 * Invariants: a request that is not a read never becomes a frame (`expectedAnswer`), which makes the agent read-only. An answer is returned
 * only if each of its fields fits the pending request. After a LinkError the connection must be closed, because the boundaries of frames
 * are unknown.
 */
export interface Framing {
  /** True while a request is pending. */
  readonly isAwaiting: boolean;
  /** Takes unit id and PDU. Returns the frame to send; null if the request must not be sent. */
  request(request: Uint8Array): Buffer | null;
  /** Takes received bytes. Returns unit id and PDU of the answer, valid until the next call; null if more bytes are needed. */
  take(bytes: Buffer, count: number): Buffer | LinkError | null;
}

/** The Modbus function that reads each table. */
export const READ_FUNCTIONS: Readonly<Record<ModbusTable, number>> = { coil: 1, discrete: 2, holding: 3, input: 4 };
/** The table that each read function reads. */
export const TABLES: Readonly<Record<number, ModbusTable>> = { 1: "coil", 2: "discrete", 3: "holding", 4: "input" };
export const EXCEPTION_BIT = 0x80;
/** Size of an exception: unit id, function, exception code. */
const EXCEPTION_BYTES = 3;

/** Returns the PDU that reads the block. */
export function readPdu({ table, address, count }: Block): readonly number[] {
  return [READ_FUNCTIONS[table], address >> 8, address & 0xff, count >> 8, count & 0xff];
}

/** Decodes the answer to a block's request: values or an exception. */
export function readAnswer(pdu: Buffer, block: Block): RegisterAnswer {
  return pdu[0] === READ_FUNCTIONS[block.table]
    ? { kind: "words", words: wordsIn(pdu, block) }
    : { kind: "exception", code: pdu[1] ?? 0 };
}

/** Decodes the values in an answer's PDU: registers, or bits as 0 and 1. */
export function wordsIn(pdu: Buffer, { table, count }: Pick<Block, "table" | "count">): readonly number[] {
  const isBits = isBitTable(table);
  return Array.from({ length: count }, (_, i) =>
    isBits ? (pdu.readUInt8(2 + (i >> 3)) >> (i & 7)) & 1 : pdu.readUInt16BE(2 + 2 * i),
  );
}

/** The required fields of the answer to the pending request. */
export interface Expected {
  readonly transaction: number;
  readonly unit: number;
  readonly code: number;
  /** Number of data bytes in an answer with values. */
  readonly dataBytes: number;
  /** Read code of an identification request (43/14). The length of its answer isn't known in advance. */
  readonly identify?: number;
  /** Configured difference between the transaction ids: the answer's id minus the request's id. Absent: 0. */
  readonly offset?: number;
}

/**
 * Returns the fields that a good answer to a request must have; null if the request must not be sent. Allowed are the four functions that
 * read, and the device identification (43 with MEI type 14). MEI type 13 of function 43 is refused, because it carries CANopen, including
 * writes. Both framings call this function before they send a byte.
 * @param request unit id and PDU
 */
export function expectedAnswer(request: Uint8Array, transaction = 0): Expected | null {
  const [unit = 0, code = 0, mei = 0, identify = 0, high = 0, low = 0] = request;
  if (code === DEVICE_ID_FUNCTION) {
    const isKnown = identify >= DEVICE_ID_CODES.basic && identify <= DEVICE_ID_CODES.extended;
    const isAllowed = request.length === 5 && mei === DEVICE_ID_MEI && isKnown;
    return isAllowed ? { transaction, unit, code, dataBytes: 0, identify } : null;
  }
  const table = TABLES[code];
  const count = (high << 8) | low;
  if (request.length !== 6 || table === undefined || count < 1) return null;
  if (isBitTable(table)) return count > 2000 ? null : { transaction, unit, code, dataBytes: Math.ceil(count / 8) };
  return count > 125 ? null : { transaction, unit, code, dataBytes: count * 2 };
}

/**
 * Checks unit id and PDU of an answer, as far as they are in `bytes[0, size)`. Returns the position where the PDU ends; null if more bytes
 * are needed; a text that says which field doesn't fit the request.
 */
export function answerEnd(bytes: Uint8Array, size: number, expected: Expected): number | string | null {
  const [unit = 0, code = 0, third = 0] = bytes;
  if (size >= 1 && unit !== expected.unit) return `unit ${unit} instead of ${expected.unit}`;
  if (size < 2) return null;
  const isException = code === (expected.code | EXCEPTION_BIT);
  if (code !== expected.code && !isException) return `function ${code} instead of ${expected.code}`;
  if (size < 3) return null;
  if (isException) return third === 0 ? "exception 0" : EXCEPTION_BYTES;
  if (expected.identify !== undefined) {
    const length = identificationLength(bytes, { from: 1, size }, expected.identify);
    return typeof length === "number" ? 1 + length : length;
  }
  return third === expected.dataBytes ? 3 + third : `${third} bytes of data instead of ${expected.dataBytes}`;
}

/** Framing of Modbus TCP (Messaging on TCP/IP Implementation Guide V1.0b, section 3.1.3). */

const MAX_TRANSACTION = 0xffff;
/** Size of the MBAP header without the unit id: transaction id 2, protocol id 2, length 2. */
export const MBAP_BYTES = 6;
/** Size of the largest Modbus TCP frame: 7 bytes of header and 253 of PDU. */
const MAX_FRAME_BYTES = 260;
/** Valid length fields of an identification: the smallest identification and the largest frame. */
const IDENTIFY_LENGTHS = { min: 8, max: 254 };

function malformed(reason: Text, advice?: Text): LinkError {
  return advice === undefined ? new LinkError("malformed", reason) : new AdvisedLinkError("malformed", reason, advice);
}

/**
 * Checks the bytes received so far, `inbox[0, size)`, as early as possible, so that an answer with a wrong length fails at once. Returns
 * the frame's end; null if more bytes are needed.
 */
export function judge(inbox: Buffer, size: number, expected: Expected): number | LinkError | null {
  if (size < MBAP_BYTES) return null;
  const transaction = inbox.readUInt16BE(0);
  if (transaction !== expected.transaction) return otherTransaction(transaction, expected);
  const protocol = inbox.readUInt16BE(2);
  if (protocol !== 0) return malformed(message("plc.odd.protocol", { id: protocol }));
  const length = inbox.readUInt16BE(4);
  const isPossible =
    length === EXCEPTION_BYTES ||
    (expected.identify === undefined
      ? length === 3 + expected.dataBytes
      : length >= IDENTIFY_LENGTHS.min && length <= IDENTIFY_LENGTHS.max);
  if (!isPossible) return malformed(message("plc.odd.length", { length, expected: 3 + expected.dataBytes }));
  const end = MBAP_BYTES + length;
  if (size < end) return null;
  if (size > end) return malformed(message("plc.odd.too_many", { count: size - end }));
  const body = inbox.subarray(MBAP_BYTES, end);
  const found = answerEnd(body, length, expected);
  if (found === length) return end;
  if (expected.unit !== 0 && body[0] === 0) return malformed(String(found), message("plc.check.unit_0"));
  if (typeof found === "string") return malformed(found);
  return malformed(
    found === null ? message("plc.odd.cut_off") : message("plc.odd.length", { length, expected: found }),
  );
}

/**
 * Returns the error for an answer with a wrong transaction id. A device that numbers its answers itself is off by one in each answer. A
 * late answer is off by one only by chance, so the advice says to check twice.
 */
function otherTransaction(transaction: number, expected: Expected): LinkError {
  const reason = message("plc.odd.transaction", { transaction, expected: expected.transaction });
  const step = ((transaction - expected.transaction + 0x1_8000) & MAX_TRANSACTION) - 0x8000;
  const offset = (expected.offset ?? 0) + step;
  const isOffByOne = Math.abs(step) === 1 && Math.abs(offset) <= 1;
  return malformed(reason, isOffByOne ? message("plc.check.transaction", { offset }) : undefined);
}

/** Configured differences between a device's answers and the standard. */
interface AnswerHabits {
  /** Difference between the transaction ids: the answer's id minus the request's id. */
  readonly offset?: number | undefined;
  /** The unit id in the answers, if it differs from the requested one. */
  readonly unit?: number | undefined;
}

/**
 * Makes the framing of one Modbus TCP connection.
 * @param numbers number of the last request to this device. The numbers continue over connections. So if a gateway sends an answer meant
 * for an earlier connection on a new one, the answer is recognized.
 */
export function mbapFraming(numbers = { last: 0 }, { offset = 0, unit }: AnswerHabits = {}): Framing {
  const frame = Buffer.alloc(MAX_FRAME_BYTES);
  let size = 0;
  let expected: Expected | null = null;
  let askedUnit = 0;
  return {
    get isAwaiting() {
      return expected !== null;
    },
    request(request) {
      const transaction = (numbers.last % MAX_TRANSACTION) + 1;
      const usual = expectedAnswer(request, (transaction + offset) & MAX_TRANSACTION);
      if (usual === null) return null;
      askedUnit = usual.unit;
      expected = { ...usual, offset, unit: unit ?? usual.unit };
      numbers.last = transaction;
      size = 0;
      const bytes = Buffer.alloc(MBAP_BYTES + request.length);
      bytes.writeUInt16BE(transaction, 0);
      bytes.writeUInt16BE(request.length, 4);
      bytes.set(request, MBAP_BYTES);
      return bytes;
    },
    take(bytes, count) {
      if (expected === null) return malformed(message("plc.odd.unasked", { count }));
      if (size + count > MAX_FRAME_BYTES) return malformed(message("plc.odd.too_long"));
      bytes.copy(frame, size, 0, count);
      size += count;
      const verdict = judge(frame, size, expected);
      if (verdict === null) return null;
      expected = null;
      if (verdict instanceof LinkError) return verdict;
      frame.writeUInt8(askedUnit, MBAP_BYTES);
      return frame.subarray(MBAP_BYTES, verdict);
    },
  };
}
