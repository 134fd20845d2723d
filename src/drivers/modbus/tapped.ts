import { isBitTable } from "../../core/profile.ts";
import type { ModbusTable } from "../../core/types/profile.ts";
import type { Framing } from "./framing.ts";
import type { ModbusLine } from "./line.ts";

/** One read and what the device said to it. */
export interface TappedRead {
  readonly unit: number;
  readonly table: ModbusTable;
  readonly address: number;
  readonly count: number;
  /** Registers, or bits as 0 and 1; null: an exception. */
  readonly words: readonly number[] | null;
  readonly exception: number | null;
}

const TABLES: Readonly<Record<number, ModbusTable>> = { 1: "coil", 2: "discrete", 3: "holding", 4: "input" };
/** Unit, function, byte count. */
const HEADER_BYTES = 3;

/** The same line; whoever taps it sees every answer that was found sound, before it is decoded. */
export function tappedLine(line: ModbusLine, onRead: (read: TappedRead) => void): ModbusLine {
  return { ...line, makeFraming: () => tappedFraming(line.makeFraming(), onRead) };
}

function tappedFraming(framing: Framing, onRead: (read: TappedRead) => void): Framing {
  let asked: Buffer | null = null;
  return {
    get awaiting() {
      return framing.awaiting;
    },
    request(request) {
      const bytes = framing.request(request);
      // Both the framing and modbus-serial use their buffers again.
      asked = bytes === null ? null : Buffer.from(request);
      return bytes;
    },
    take(bytes, count) {
      const outcome = framing.take(bytes, count);
      const read = asked !== null && Buffer.isBuffer(outcome) ? readOf(asked, outcome) : null;
      if (read !== null) onRead(read);
      return outcome;
    },
  };
}

/** @param answer found sound by the framing */
function readOf(request: Buffer, answer: Buffer): TappedRead | null {
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
