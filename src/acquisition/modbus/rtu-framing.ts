import { LinkError } from "../../domain/link-error.ts";
import { crc16 } from "./crc16.ts";
import type { Framing } from "./framing.ts";
import { askedRead, type AskedRead, type LateAnswers } from "./late-answers.ts";
import { type Expected, expectedAnswer } from "./mbap.ts";
import { judgeRtu, MAX_RTU_BYTES, soundFrame } from "./rtu.ts";

const CRC_BYTES = 2;

interface Asked {
  readonly expected: Expected;
  readonly request: Buffer;
  readonly read: AskedRead;
}

/**
 * Modbus RTU: collects the one answer that is awaited; anything else is a LinkError "malformed", but for whole frames that
 * may answer what was given up: they are dropped.
 */
export function rtuFraming(late: LateAnswers): Framing {
  const frame = Buffer.alloc(2 * MAX_RTU_BYTES);
  let size = 0;
  let asked: Asked | null = null;

  /** Drops whole late frames from the front; true: what is there may be the beginning of one. */
  const dropLate = (): boolean => {
    while (size > 0 && late.mayBegin(frame, size, asked?.read ?? null)) {
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
      const read = askedRead(expected.unit, bytes.subarray(1, -CRC_BYTES));
      asked = { expected, request: bytes, read };
      size = 0;
      return bytes;
    },
    take(bytes, count) {
      if (size + count > frame.length) return new LinkError("malformed", "more bytes than any answer has");
      bytes.copy(frame, size, 0, count);
      size += count;
      if (dropLate()) return null;
      if (asked === null) {
        return size === 0 ? null : new LinkError("malformed", `${size} bytes that nobody asked for`);
      }
      const verdict = judgeRtu(frame, size, asked);
      if (verdict.kind === "partial") return null;
      if (verdict.kind === "answer") late.answered(asked.read, frame[1] === asked.expected.code);
      asked = null;
      size = 0;
      if (verdict.kind === "malformed") return new LinkError("malformed", verdict.reason);
      return frame.subarray(0, verdict.end);
    },
  };
}
