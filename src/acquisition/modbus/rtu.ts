import { crc16 } from "./crc16.ts";
import { identificationLength } from "./device-id.ts";
import type { Expected, Verdict } from "./mbap.ts";

/**
 * Modbus RTU framing, pure (Modbus over Serial Line V1.02, 2.5.1). Converters and USB adapters don't keep the silences
 * between frames, so an answer's end is known from what was asked for and from its CRC alone, and every field has to fit.
 */

/** Largest RTU frame: unit, 253 bytes of PDU, CRC. */
export const MAX_RTU_BYTES = 256;
const CRC_BYTES = 2;
const EXCEPTION_BIT = 0x80;
/** Unit, function, exception code, CRC. */
const EXCEPTION_BYTES = 5;

const PARTIAL: Verdict = { kind: "partial" };

/**
 * Judges what has come in so far, `bytes[0, size)`, as early as possible.
 * @param request what was sent: an adapter that echoes could else be taken for a device that answers
 */
export function judgeRtu(bytes: Buffer, size: number, asked: { expected: Expected; request: Buffer }): Verdict {
  const { expected } = asked;
  if (size >= 1 && bytes[0] !== expected.unit) return malformed(`unit ${bytes[0] ?? 0} instead of ${expected.unit}`);
  if (size < 2) return PARTIAL;
  const code = bytes[1] ?? 0;
  if (code !== expected.code && code !== (expected.code | EXCEPTION_BIT)) {
    return malformed(`function ${code} instead of ${expected.code}`);
  }
  if (size < 3) return PARTIAL;
  const third = bytes[2] ?? 0;
  const isException = code !== expected.code;
  if (isException && third === 0) return malformed("exception 0");
  const end = isException ? EXCEPTION_BYTES : goodEnd(bytes, size, expected);
  if (typeof end === "string") return malformed(end);
  if (end === null) return PARTIAL;
  if (size < end) return PARTIAL;
  if (size > end) return malformed(`${size - end} bytes too many`);
  if (!hasGoodCrc(bytes, end)) return malformed("its CRC is wrong");
  if (end === asked.request.length && asked.request.equals(bytes.subarray(0, end))) {
    return malformed("our own request came back: the adapter echoes");
  }
  return { kind: "answer", end };
}

/** Where a good answer ends; null: too little of it is there to tell; a text: what is wrong with it. */
function goodEnd(bytes: Buffer, size: number, expected: Expected): number | string | null {
  if (expected.identify !== undefined) {
    const length = identificationLength(bytes, { from: 1, size }, expected.identify);
    return typeof length === "number" ? 1 + length + CRC_BYTES : length;
  }
  const third = bytes[2] ?? 0;
  if (third !== expected.dataBytes) return `${third} bytes of data instead of ${expected.dataBytes}`;
  return 3 + expected.dataBytes + CRC_BYTES;
}

/**
 * How long the frame at the start of the bytes is if it is a whole and sound answer to some read; 0: it isn't; -1: it may
 * become one.
 */
export function soundFrame(bytes: Buffer, size: number): number {
  if (size < 3) return -1;
  const isException = ((bytes[1] ?? 0) & EXCEPTION_BIT) !== 0;
  const end = isException ? EXCEPTION_BYTES : 3 + (bytes[2] ?? 0) + CRC_BYTES;
  if (end > MAX_RTU_BYTES) return 0;
  if (size < end) return -1;
  return hasGoodCrc(bytes, end) ? end : 0;
}

function hasGoodCrc(bytes: Buffer, end: number): boolean {
  return bytes.readUInt16LE(end - CRC_BYTES) === crc16(bytes, 0, end - CRC_BYTES);
}

function malformed(reason: string): Verdict {
  return { kind: "malformed", reason };
}
