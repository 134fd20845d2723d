import { isBitTable, type ModbusTable } from "../../domain/profile.ts";
import type { WireExchange } from "../port.ts";
import type { Framing } from "./framing.ts";
import type { ModbusLine } from "./line.ts";

/** Sees requests as they are sent and answers that were found sound: unit id and PDU. The buffers may be kept. */
export interface Tap {
  asked(request: Buffer): void;
  answered(request: Buffer, answer: Buffer): void;
}

const TABLES: Readonly<Record<number, ModbusTable>> = { 1: "coil", 2: "discrete", 3: "holding", 4: "input" };
/** Unit, function, byte count. */
const HEADER_BYTES = 3;
const CRC_BYTES = 2;

/** The same line; the tap sees everything that goes over it. */
export function tappedLine(line: ModbusLine, tap: Tap): ModbusLine {
  return { ...line, makeFraming: () => tappedFraming(line.makeFraming(), tap) };
}

function tappedFraming(framing: Framing, tap: Tap): Framing {
  let asked: Buffer | null = null;
  return {
    get awaiting() {
      return framing.awaiting;
    },
    request(request) {
      const bytes = framing.request(request);
      asked = bytes === null ? null : withoutCrc(request);
      if (asked !== null) tap.asked(asked);
      return bytes;
    },
    take(bytes, count) {
      const outcome = framing.take(bytes, count);
      if (asked !== null && Buffer.isBuffer(outcome)) tap.answered(asked, withoutCrc(outcome));
      return outcome;
    },
  };
}

/** A copy: both the framing and modbus-serial use their buffers again. */
function withoutCrc(frame: Buffer): Buffer {
  return Buffer.from(frame.subarray(0, frame.length - CRC_BYTES));
}

/**
 * What a sound answer says; null: it isn't one to a read.
 * @param request unit id and PDU, as `answer`
 */
export function tappedRead(request: Buffer, answer: Buffer): WireExchange | null {
  const table = TABLES[request.readUInt8(1)];
  if (table === undefined) return null;
  const count = request.readUInt16BE(4);
  const about = { unit: request.readUInt8(0), table, address: request.readUInt16BE(2), count };
  if (answer.readUInt8(1) !== request.readUInt8(1)) {
    return { ...about, words: null, exception: answer.readUInt8(2) };
  }
  const words = Array.from({ length: count }, (_, i) =>
    isBitTable(table)
      ? (answer.readUInt8(HEADER_BYTES + (i >> 3)) >> (i & 7)) & 1
      : answer.readUInt16BE(HEADER_BYTES + 2 * i),
  );
  return { ...about, words, exception: null };
}
