import type { ModbusTable } from "../../src/domain/profile.ts";
import type { BadRange, Manners } from "./manners.ts";
import type { IdentificationObject } from "./identification.ts";
import type { RegisterImage } from "./registers.ts";

/** Modbus Messaging on TCP/IP Implementation Guide V1.0b, 3.1: MBAP header of 7 bytes, PDU of at most 253. */
const HEADER_BYTES = 7;
const MAX_LENGTH_FIELD = 254;
const MAX_BITS = 2000;

export interface Request {
  readonly transaction: number;
  readonly unit: number;
  readonly pdu: Buffer;
}

/** The complete requests and the remaining bytes of a connection, and whether the peer speaks Modbus. */
export interface Parsed {
  readonly requests: readonly Request[];
  readonly rest: Buffer;
  readonly malformed: boolean;
}

/** Splits a stream into requests, however TCP split or merged them. */
export function parseFrames(bytes: Buffer): Parsed {
  const requests: Request[] = [];
  let at = 0;
  while (bytes.length - at >= HEADER_BYTES) {
    const length = bytes.readUInt16BE(at + 4);
    if (bytes.readUInt16BE(at + 2) !== 0 || length < 2 || length > MAX_LENGTH_FIELD) {
      return { requests, rest: bytes.subarray(at), malformed: true };
    }
    const end = at + 6 + length;
    if (bytes.length < end) break;
    const pdu = bytes.subarray(at + HEADER_BYTES, end);
    requests.push({ transaction: bytes.readUInt16BE(at), unit: bytes.readUInt8(at + 6), pdu });
    at = end;
  }
  return { requests, rest: bytes.subarray(at), malformed: false };
}

export function frame(request: Request, pdu: Buffer, lengthError = 0): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt16BE(request.transaction, 0);
  header.writeUInt16BE(pdu.length + 1 + lengthError, 4);
  header.writeUInt8(request.unit, 6);
  return Buffer.concat([header, pdu]);
}

const TABLES: Readonly<Record<number, ModbusTable>> = { 1: "coil", 2: "discrete", 3: "holding", 4: "input" };
const WRITES: readonly number[] = [5, 6, 15, 16, 21, 22, 23];

export function isWrite(request: Request): boolean {
  return WRITES.includes(request.pdu[0] ?? 0);
}

export interface Answer {
  readonly pdu: Buffer;
  /** Number of registers or bits in the answer. */
  readonly values: number;
}

function exception(functionCode: number, code: number): Answer {
  return { pdu: Buffer.from([functionCode | 0x80, code]), values: 0 };
}

function packBits(bits: readonly number[]): Buffer {
  const bytes = Buffer.alloc(Math.ceil(bits.length / 8));
  for (const [i, bit] of bits.entries()) {
    if (bit) bytes[i >> 3] = (bytes[i >> 3] ?? 0) | (1 << (i & 7));
  }
  return bytes;
}

function packWords(words: readonly number[]): Buffer {
  const bytes = Buffer.alloc(2 * words.length);
  for (const [i, word] of words.entries()) bytes.writeUInt16BE(word, 2 * i);
  return bytes;
}

/** The device that answers the frames. */
export interface Device {
  readonly image: RegisterImage;
  readonly max_registers: number;
  readonly max_bits: number;
  readonly manners: Manners;
  /** Returns the objects of Read Device Identification. Absent: not supported. */
  readonly identification?: (at: number) => readonly IdentificationObject[];
  /** Simulated epoch ms of the last answer; -Infinity before the first. */
  answered_at: number;
}

function badCode(
  ranges: readonly BadRange[],
  span: { table: ModbusTable; address: number; count: number },
): number | null {
  const end = span.address + span.count;
  const hit = ranges.find((r) => r.table === span.table && r.first < end && span.address <= r.last);
  return hit?.code ?? null;
}

/** Uses up one of the requested torn reads. */
function isTorn(manners: Manners, isBits: boolean): boolean {
  if (isBits || manners.torn_reads <= 0) return false;
  manners.torn_reads--;
  return true;
}

/** Lengthens or shortens the payload by `short_by` values, with a matching byte count. */
function missized(payload: Buffer, short_by: number, isBits: boolean): Buffer {
  if (short_by === 0) return payload;
  const size = payload.length - short_by * (isBits ? 1 : 2);
  const sized = Buffer.alloc(Math.min(250, Math.max(0, size)));
  payload.copy(sized);
  return sized;
}

/**
 * Answers a request with the device's memory at `at`, for function codes 1 to 4. Exceptions: 1 for any other code, 2
 * for an unknown address, 3 for a count out of bounds or a PDU of the wrong length.
 */
export function answer(device: Device, request: Request, at: number): Answer {
  const functionCode = request.pdu[0] ?? 0;
  const table = TABLES[functionCode];
  const { manners } = device;
  if (manners.exception !== null) return exception(functionCode, manners.exception);
  if (at - device.answered_at < manners.min_gap_ms) return exception(functionCode, 6);
  if (!table) return exception(functionCode, 1);
  if (request.pdu.length !== 5) return exception(functionCode, 3);
  const span = { table, address: request.pdu.readUInt16BE(1), count: request.pdu.readUInt16BE(3) };
  const isBits = functionCode <= 2;
  const most = isBits ? Math.min(MAX_BITS, device.max_bits) : Math.min(125, device.max_registers);
  if (span.count < 1 || span.count > most) return exception(functionCode, 3);
  const bad = badCode(manners.bad_ranges, span) ?? device.image.refuses?.(span, at) ?? null;
  if (bad !== null) return exception(functionCode, bad);
  const values = device.image.read(span, at, isTorn(manners, isBits));
  if (!values) return exception(functionCode, 2);
  const payload = missized(isBits ? packBits(values) : packWords(values), manners.short_by, isBits);
  return { pdu: Buffer.concat([Buffer.from([functionCode, payload.length]), payload]), values: values.length };
}
