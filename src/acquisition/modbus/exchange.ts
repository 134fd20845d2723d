import { setTimeout as delay } from "node:timers/promises";
import { LinkError } from "../../domain/link-error.ts";
import type { PlcAsk } from "../../domain/shared-link.ts";
import type { Milliseconds } from "../../domain/units.ts";
import { LATE_ANSWERS } from "./asker.ts";
import { crc16 } from "./crc16.ts";
import { identify, type DeviceObject } from "./identify.ts";
import { askedRead } from "./late-answers.ts";
import type { ModbusLine } from "./line.ts";
import { oneAtATime, overdue } from "./one-at-a-time.ts";
import type { Wire } from "./wire.ts";

/** How a unit took one read. */
export type RegisterAnswer =
  { readonly kind: "words"; readonly words: readonly number[] } | { readonly kind: "exception"; readonly code: number };

/**
 * One connection for tools that ask several units in turn. One request at a time; every promise settles, with an answer
 * or a LinkError, after which the connection is closed.
 */
export interface Exchange {
  open(): Promise<void>;
  registers(unit: number, block: RegisterBlock): Promise<RegisterAnswer>;
  /** The unit's identification (function 43/14); null: it has none. */
  identify(unit: number): Promise<readonly DeviceObject[] | null>;
  /** The answer's PDU to a PDU that reads; anything else is refused. */
  ask(unit: number, pdu: ArrayLike<number>): Promise<Buffer>;
  close(): void;
}

export interface RegisterBlock {
  readonly table: "holding" | "input";
  readonly address: number;
  readonly count: number;
}

export interface ExchangeTimes {
  readonly connect_ms: Milliseconds;
  /** From a request to the last byte of its answer. */
  readonly answer_ms: Milliseconds;
}

const CRC_BYTES = 2;

/** No driver may be at work on the line meanwhile. */
export function modbusExchange(line: ModbusLine, times: ExchangeTimes): Exchange {
  const pipe = exchangePipe(line, times);
  const ask = async (unit: number, pdu: ArrayLike<number>): Promise<Buffer> => {
    // Devices on a line see by a silence where a request begins.
    if (line.silence_ms > 0) await delay(line.silence_ms);
    const asked_at = performance.now();
    try {
      return (await pipe.ask([unit, ...Array.from(pdu)])).subarray(1);
    } catch (error) {
      const wasSent = !(error instanceof LinkError && error.kind === "config");
      if (wasSent) line.late.gaveUp(askedRead(unit, pdu), { asked_at, for_ms: LATE_ANSWERS * times.answer_ms });
      throw error;
    } finally {
      line.touched_at = performance.now();
    }
  };
  return {
    ask,
    open: () => pipe.open(),
    registers: async (unit, { table, address, count }) => {
      const code = table === "holding" ? 3 : 4;
      const pdu = await ask(unit, [code, address >> 8, address & 0xff, count >> 8, count & 0xff]);
      if (pdu[0] !== code) return { kind: "exception", code: pdu[1] ?? 0 };
      return { kind: "words", words: Array.from({ length: count }, (_, i) => pdu.readUInt16BE(2 + 2 * i)) };
    },
    identify: (unit) => identify((pdu) => ask(unit, pdu)),
    close: () => pipe.end(new LinkError("closed", "closed by the gateway")),
  };
}

/** One read over a line that others hold: over their connection, where it stands. Rejects with a LinkError. */
export async function askOverLine(
  line: ModbusLine,
  { unit, pdu }: PlcAsk,
  within_ms: Milliseconds,
): Promise<Uint8Array> {
  // What an earlier request to the unit may still bring would be taken for this one's answer; waiting would keep polls back.
  if (performance.now() < line.late.until(unit))
    throw new LinkError("busy", `unit ${unit} hasn't answered just now; try again in a moment`);
  const exchange = modbusExchange(line, { connect_ms: within_ms, answer_ms: Math.min(within_ms, line.answer_ms) });
  try {
    await exchange.open();
    return await exchange.ask(unit, pdu);
  } finally {
    exchange.close();
  }
}

interface Pipe {
  open(): Promise<void>;
  /** Sends unit and PDU, gives the answer's. */
  ask(request: readonly number[]): Promise<Buffer>;
  /** The first reason stays. */
  end(error: LinkError): void;
}

function exchangePipe(line: ModbusLine, times: ExchangeTimes): Pipe {
  const framing = line.makeFraming();
  let wire: Wire | null = null;
  const { begin, done, end } = oneAtATime<Buffer>(() => wire?.destroy(framing.awaiting));
  const timely = (what: string, ms: Milliseconds, act: () => void): Promise<Buffer> =>
    begin(ms, () => end(overdue(what, ms)), act);
  const connected = (): void => done(Buffer.alloc(0));
  const data = (bytes: Buffer, count: number): void => {
    const outcome = framing.take(bytes, count);
    if (outcome instanceof LinkError) end(outcome);
    // The framing uses its buffer again.
    else if (outcome !== null) done(Buffer.from(outcome.subarray(0, outcome.length - CRC_BYTES)));
  };
  return {
    end,
    open: async () => {
      await timely("connection", times.connect_ms, () => (wire = line.openWire({ connected, data, down: end })));
    },
    ask: (request) =>
      timely("answer", times.answer_ms, () => {
        const bytes = framing.request(withCrc(request));
        if (bytes === null) end(new LinkError("config", "only reads may be sent"));
        else wire?.write(bytes);
      }),
  };
}

/** As modbus-serial hands requests to the framing. */
function withCrc(request: readonly number[]): Buffer {
  const bytes = Buffer.from([...request, 0, 0]);
  bytes.writeUInt16LE(crc16(bytes, 0, request.length), request.length);
  return bytes;
}
