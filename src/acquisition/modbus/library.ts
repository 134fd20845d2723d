import { message } from "../../domain/message.ts";
import modbus from "modbus-serial";
import { LinkError } from "../../domain/link-error.ts";
import type { ModbusTable } from "../../domain/profile.ts";
import type { Milliseconds } from "../../domain/units.ts";
import type { RegisterAnswer } from "../port.ts";
import type { Block } from "../rules/plan.ts";
import { crc16, CRC_BYTES } from "./rtu.ts";

/** Sends a PDU that reads, and returns the PDU of the answer. Rejects with a LinkError. */
type Ask = (unit: number, pdu: Uint8Array, within_ms?: Milliseconds) => Promise<Buffer>;

type Callback = (error: (Error & { modbusCode?: unknown }) | null, result?: { data: number[] | boolean[] }) => void;
type SendRead = (...request: [unit: number, address: number, count: number, next: Callback]) => void;
/** The part of modbus-serial that the agent uses: its four functions that read. */
type Reader = Readonly<Record<"writeFC1" | "writeFC2" | "writeFC3" | "writeFC4", SendRead>>;

const SEND: Readonly<Record<ModbusTable, keyof Reader>> = {
  coil: "writeFC1",
  discrete: "writeFC2",
  holding: "writeFC3",
  input: "writeFC4",
};

/**
 * Returns a function that reads a block with modbus-serial: the library builds the request and decodes the answer. The library sends
 * through `ask`, so every byte is checked before the library sees an answer. The library's own ports are not used. Its TcpPort checks
 * neither protocol id nor byte count, assigns an answer by its number alone, and doesn't report a reset. Its RTU port looks for an answer
 * at any offset. Only one read runs at a time; `ask` must reject a second read before it starts.
 */
export function blockReader(
  ask: Ask,
): (unit: number, block: Block, within_ms?: Milliseconds) => Promise<RegisterAnswer> {
  let deliver: (frame: Buffer) => void = () => undefined;
  let send: (frame: Buffer) => void = () => undefined;
  const client = new modbus.default({
    isOpen: true,
    // The library stores a pending request under this number. Because the number is constant, the library keeps only one request.
    _transactionIdRead: 1,
    _transactionIdWrite: 1,
    open: (opened: () => void) => opened(),
    write: (frame: Buffer) => send(frame),
    on: (event: string, listener: (frame: Buffer) => void) => {
      if (event === "data") deliver = listener;
    },
    once: () => undefined,
    removeListener: () => undefined,
  });
  client.open(() => undefined);
  // Casts the client, because the library's type declaration omits the functions that take a callback.
  const reader = client as unknown as Reader;
  return (unit, block, within_ms) => {
    const { promise, resolve, reject } = Promise.withResolvers<RegisterAnswer>();
    send = (frame) => {
      const pdu = frame.subarray(1, frame.length - CRC_BYTES);
      ask(unit, pdu, within_ms).then((answer) => deliver(withCrc(unit, answer)), reject);
    };
    reader[SEND[block.table]](unit, block.address, block.count, (error, result) => {
      if (typeof error?.modbusCode === "number") resolve({ kind: "exception", code: error.modbusCode });
      else if (error !== null || result === undefined)
        reject(new LinkError("malformed", message("plc.odd.refused_frame"), error));
      else resolve({ kind: "words", words: wordsOf(result.data, block.count) });
    });
    return promise;
  };
}

/** Returns the requested words. The library fills bits up to whole bytes, but returns exactly as many registers as requested. */
function wordsOf(data: readonly number[] | readonly boolean[], count: number): readonly number[] {
  return isNumbers(data) ? data : data.slice(0, count).map(Number);
}

function isNumbers(data: readonly number[] | readonly boolean[]): data is readonly number[] {
  return typeof data[0] === "number";
}

/** Returns the frame that the library expects: unit id, PDU, CRC. */
function withCrc(unit: number, pdu: Buffer): Buffer {
  const frame = Buffer.alloc(1 + pdu.length + CRC_BYTES);
  frame.writeUInt8(unit);
  pdu.copy(frame, 1);
  frame.writeUInt16LE(crc16(frame, frame.length - CRC_BYTES), frame.length - CRC_BYTES);
  return frame;
}
