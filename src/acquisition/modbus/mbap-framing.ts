import { LinkError } from "../../domain/link-error.ts";
import { crc16 } from "./crc16.ts";
import type { Framing } from "./framing.ts";
import { type Expected, expectedAnswer, frameRequest, judge, MAX_FRAME_BYTES, MBAP_BYTES } from "./mbap.ts";

const CRC_BYTES = 2;
const MAX_TRANSACTION = 0xffff;

/** The number of the last request that went to a device, over whichever connection. */
export interface Numbers {
  last: number;
}

/**
 * Modbus TCP: collects the one answer that is awaited; anything else is a LinkError "malformed". Bounded by one frame.
 * @param numbers goes on over connections: a gateway that gives a new one the answer meant for the old one is found out
 */
export function mbapFraming(numbers: Numbers = { last: 0 }): Framing {
  const frame = Buffer.alloc(MAX_FRAME_BYTES + CRC_BYTES);
  let size = 0;
  let expected: Expected | null = null;
  return {
    get awaiting() {
      return expected !== null;
    },
    request(request) {
      const next = (numbers.last % MAX_TRANSACTION) + 1;
      expected = expectedAnswer(request, next);
      if (expected === null) return null;
      numbers.last = next;
      size = 0;
      return frameRequest(request, next);
    },
    take(bytes, count) {
      if (expected === null) return new LinkError("malformed", `${count} bytes that nobody asked for`);
      if (size + count > MAX_FRAME_BYTES) return new LinkError("malformed", "more bytes than any answer has");
      bytes.copy(frame, size, 0, count);
      size += count;
      const verdict = judge(frame, size, expected);
      if (verdict.kind === "partial") return null;
      expected = null;
      if (verdict.kind === "malformed") return new LinkError("malformed", verdict.reason);
      frame.writeUInt16LE(crc16(frame, MBAP_BYTES, verdict.end), verdict.end);
      return frame.subarray(MBAP_BYTES, verdict.end + CRC_BYTES);
    },
  };
}
