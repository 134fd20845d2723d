import type { ModbusAddress } from "../../config/port.ts";
import { LinkError, PeerClosed } from "../../domain/link-error.ts";
import { isBitTable, type ModbusTable } from "../../domain/profile.ts";
import type { PlcAsk } from "../../domain/agent-control.ts";
import type { Milliseconds } from "../../domain/units.ts";
import type { Block } from "../rules/plan.ts";
import type { ConnectTimes, RegisterAnswer, WireExchange, WireTap } from "../port.ts";
import { identify } from "./device-id.ts";
import { CRC_BYTES, type Framing, MBAP_BYTES, mbapFraming } from "./framing.ts";
import { askedRead, LATE_ANSWERS, NEVER_LATE } from "./rtu.ts";
import { modbusLine, type ModbusLine, type OpenWire } from "./wire.ts";
import { modbusSession } from "./session.ts";
import { say } from "../../domain/sentences.ts";
import { monotonicMs } from "../../monotonic.ts";

/** Longer than a read waits for a place between polls and then for its answer: whoever holds the link knows when to give up. */
const SHARED_LINK_ANSWER_MS: Milliseconds = 9_000;

/** The line to a device whose connection somebody else holds: each request is carried out there. */
export function sharedLinkLine(address: ModbusAddress, ask: (ask: PlcAsk) => Promise<Uint8Array>): ModbusLine {
  return {
    ...modbusLine(address, { openWire: askingWire(ask) }),
    makeFraming: () => mbapFraming(),
    // Silences and late answers are the holder's business.
    silence_ms: 0,
    late: NEVER_LATE,
    numbered: true,
    answer_ms: SHARED_LINK_ANSWER_MS,
  };
}

/** The same line, with so long from the begin of one request to that of the next at least, whichever connection it goes over. */
export function pacedLine(line: ModbusLine, pace_ms: Milliseconds): ModbusLine {
  let next = -Infinity;
  const openWire: OpenWire = (events) => {
    const wire = line.openWire(events);
    let waiting: ReturnType<typeof setTimeout> | undefined;
    return {
      write: (bytes) => {
        const wait = next - monotonicMs();
        next = Math.max(next, monotonicMs()) + pace_ms;
        // The buffer may be used again meanwhile.
        const copy = Buffer.from(bytes);
        if (wait <= 0) wire.write(copy);
        else waiting = setTimeout(() => wire.write(copy), wait);
      },
      destroy: (unanswered) => {
        clearTimeout(waiting);
        wire.destroy(unanswered);
      },
    };
  };
  return { ...line, openWire };
}

/** Modbus TCP frames at this end, one at a time; single requests at the other. */
function askingWire(ask: (ask: PlcAsk) => Promise<Uint8Array>): OpenWire {
  return (events) => {
    let over = false;
    const carry = async (frame: Buffer): Promise<void> => {
      const answer = await ask({ unit: frame.readUInt8(MBAP_BYTES), pdu: frame.subarray(MBAP_BYTES + 1) });
      if (over) return;
      const head = Buffer.from(frame.subarray(0, MBAP_BYTES + 1));
      head.writeUInt16BE(answer.length + 1, MBAP_BYTES - 2);
      const bytes = Buffer.concat([head, answer]);
      events.data(bytes, bytes.length);
    };
    queueMicrotask(() => (over ? undefined : events.connected()));
    return {
      write: (bytes) => {
        carry(Buffer.from(bytes)).catch((error: unknown) => {
          if (over) return;
          over = true;
          events.down(error instanceof LinkError ? error : new LinkError("closed", String(error), error));
        });
      },
      destroy: () => (over = true),
    };
  };
}

/** By the function that reads them. */
export const TABLES: Readonly<Record<number, ModbusTable>> = { 1: "coil", 2: "discrete", 3: "holding", 4: "input" };
/** The functions that read them. */
const READS: Readonly<Record<ModbusTable, number>> = { coil: 1, discrete: 2, holding: 3, input: 4 };
/** Unit, function, byte count. */
const HEADER_BYTES = 3;

/** The same line; the tap sees everything that goes over it. */
export function tappedLine(line: ModbusLine, tap: WireTap): ModbusLine {
  return { ...line, makeFraming: () => tappedFraming(line.makeFraming(), tap) };
}

function tappedFraming(framing: Framing, tap: WireTap): Framing {
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
  return { ...about, words: wordsIn(answer.subarray(HEADER_BYTES), { table, count }), exception: null };
}

/** Registers, or bits as 0 and 1. */
function wordsIn(data: Buffer, { table, count }: Pick<Block, "table" | "count">): readonly number[] {
  return Array.from({ length: count }, (_, i) =>
    isBitTable(table) ? (data.readUInt8(i >> 3) >> (i & 7)) & 1 : data.readUInt16BE(2 * i),
  );
}

/**
 * One connection for tools that ask several units in turn; no driver may be at work on the line meanwhile. One request at a time;
 * every promise settles, with an answer or a LinkError, after which the connection is closed. If the device closes the connection
 * after an answer, the next request goes over a new one.
 */
export function modbusExchange(line: ModbusLine, times: ConnectTimes) {
  let session = modbusSession(line, times);
  /** Complete answers over this connection. */
  let answers = 0;
  const askOnce = async (unit: number, pdu: ArrayLike<number>): Promise<Buffer> => {
    // Devices on a line see by a silence where a request begins.
    if (line.silence_ms > 0) await session.pause(line.silence_ms);
    const asked_at = monotonicMs();
    try {
      return await session.ask(unit, pdu);
    } catch (error) {
      const wasSent = !(error instanceof LinkError && error.kind === "config");
      if (wasSent) line.late.gaveUp(askedRead(unit, pdu), { asked_at, for_ms: LATE_ANSWERS * times.answer_ms });
      throw error;
    } finally {
      line.touched_at = monotonicMs();
    }
  };
  /** The answer's PDU to a PDU that reads; anything else is refused. */
  const ask = async (unit: number, pdu: ArrayLike<number>): Promise<Buffer> => {
    if (answers > 0 && session.ended() instanceof PeerClosed) {
      session = modbusSession(line, times);
      answers = 0;
      await session.open();
    }
    try {
      const answer = await askOnce(unit, pdu);
      answers += 1;
      return answer;
    } catch (error) {
      // A new connection has no answers yet, so a request is made twice at most.
      if (answers === 0 || !(error instanceof PeerClosed)) throw error;
      return ask(unit, pdu);
    }
  };
  return {
    ask,
    open: () => session.open(),
    registers: async (unit: number, { table, address, count }: Block): Promise<RegisterAnswer> => {
      const code = READS[table];
      const pdu = await ask(unit, [code, address >> 8, address & 0xff, count >> 8, count & 0xff]);
      if (pdu[0] !== code) return { kind: "exception", code: pdu[1] ?? 0 };
      return { kind: "words", words: wordsIn(pdu.subarray(2), { table, count }) };
    },
    identify: (unit: number) => identify((pdu) => ask(unit, pdu)),
    close: () => session.end(new LinkError("closed", say("plc.closed.gateway"))),
  };
}

/** One read over a line that others hold: over their connection, where it stands. Rejects with a LinkError. */
export async function askOverLine(line: ModbusLine, { unit, pdu }: PlcAsk, within_ms: Milliseconds) {
  // What an earlier request to the unit may still bring would be taken for this one's answer; waiting would keep polls back.
  if (monotonicMs() < line.late.until(unit)) throw new LinkError("busy", say("plc.busy_unit", { unit }));
  const exchange = modbusExchange(line, { connect_ms: within_ms, answer_ms: Math.min(within_ms, line.answer_ms) });
  try {
    await exchange.open();
    return await exchange.ask(unit, pdu);
  } finally {
    exchange.close();
  }
}
