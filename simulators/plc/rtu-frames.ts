import type { Request } from "./modbus-frames.ts";

/** Modbus over Serial Line V1.02, 2.5.1: unit, PDU, CRC-16 with its low byte first. */

const CRC_BYTES = 2;
/** Function codes whose requests are unit, code, two words and CRC. */
const FIXED: readonly number[] = [1, 2, 3, 4, 5, 6];
const FIXED_BYTES = 8;
/** Position of the byte count in writes of several values. */
const COUNTED: readonly number[] = [15, 16];
const COUNT_AT = 6;

/** Computes the CRC bit by bit as in the specification's appendix, independent of the driver's table. */
export function crcOf(bytes: Uint8Array): number {
  let crc = 0xffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >> 1) ^ 0xa001 : crc >> 1;
  }
  return crc;
}

interface RtuParsed {
  readonly requests: readonly Request[];
  readonly rest: Buffer;
  /** Number of bytes that belong to no request. */
  readonly stray: number;
}

/** Extracts requests from the bytes of a line. Bytes that start no request are dropped one by one. */
export function parseRtu(bytes: Buffer): RtuParsed {
  const requests: Request[] = [];
  let at = 0;
  let stray = 0;
  while (at < bytes.length) {
    const length = lengthAt(bytes, at);
    if (length === null || at + length > bytes.length) break;
    const frame = bytes.subarray(at, at + length);
    if (length > CRC_BYTES && crcOf(frame.subarray(0, -CRC_BYTES)) === frame.readUInt16LE(length - CRC_BYTES)) {
      requests.push({ transaction: 0, unit: frame.readUInt8(0), pdu: frame.subarray(1, -CRC_BYTES) });
      at += length;
    } else {
      stray++;
      at++;
    }
  }
  return { requests, rest: bytes.subarray(at), stray };
}

/** Returns the length of the request at that position; null: not yet known; 1: the byte starts no request. */
function lengthAt(bytes: Buffer, at: number): number | null {
  const code = bytes[at + 1];
  if (code === undefined) return null;
  if (FIXED.includes(code)) return FIXED_BYTES;
  if (!COUNTED.includes(code)) return 1;
  const count = bytes[at + COUNT_AT];
  return count === undefined ? null : COUNT_AT + 1 + count + CRC_BYTES;
}

export function rtuFrame(about: Request, pdu: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from([about.unit]), pdu]);
  const crc = Buffer.alloc(CRC_BYTES);
  crc.writeUInt16LE(crcOf(body));
  return Buffer.concat([body, crc]);
}
