import { LinkError } from "../../core/link-error.ts";
import { crc16 } from "./crc16.ts";
import type { Framing } from "./framing.ts";
import { expectedAnswer } from "./mbap.ts";
import type { Expected } from "./mbap.ts";
import { judgeRtu, MAX_RTU_BYTES, soundFrame } from "./rtu.ts";

const CRC_BYTES = 2;

interface Asked {
  readonly expected: Expected;
  readonly request: Buffer;
}

/**
 * Modbus RTU: collects the one answer that is awaited; anything else is a LinkError "malformed", but for whole frames of
 * units whose answer was given up: they come late, and RTU frames carry no number, so only the unit tells them apart.
 * @param isLate whether an answer of that unit may still be on its way
 */
export function rtuFraming(isLate: (unit: number) => boolean): Framing {
  const frame = Buffer.alloc(2 * MAX_RTU_BYTES);
  let size = 0;
  let asked: Asked | null = null;

  /** Drops whole late frames from the front; true: what is there may be the beginning of one. */
  const dropLate = (own: number | null): boolean => {
    while (size > 0 && frame[0] !== own && isLate(frame[0] ?? 0)) {
      const length = soundFrame(frame, size);
      if (length === -1) return true;
      if (length === 0) return false;
      frame.copy(frame, 0, length, size);
      size -= length;
    }
    return false;
  };
  return {
    get awaiting() {
      return asked !== null;
    },
    request(request) {
      const expected = expectedAnswer(request, 0);
      if (expected === null) return null;
      const bytes = Buffer.from(request);
      bytes.writeUInt16LE(crc16(bytes, 0, bytes.length - CRC_BYTES), bytes.length - CRC_BYTES);
      asked = { expected, request: bytes };
      size = 0;
      return bytes;
    },
    take(bytes, count) {
      if (size + count > frame.length) return new LinkError("malformed", "more bytes than any answer has");
      bytes.copy(frame, size, 0, count);
      size += count;
      if (dropLate(asked?.expected.unit ?? null)) return null;
      if (asked === null) {
        return size === 0 ? null : new LinkError("malformed", `${size} bytes that nobody asked for`);
      }
      const verdict = judgeRtu(frame, size, asked);
      if (verdict.kind === "partial") return null;
      asked = null;
      size = 0;
      if (verdict.kind === "malformed") return new LinkError("malformed", verdict.reason);
      return frame.subarray(0, verdict.end);
    },
  };
}
