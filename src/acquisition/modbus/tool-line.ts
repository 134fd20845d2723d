import { message } from "../../domain/message.ts";
import { errorText } from "../../domain/messages/message-error.ts";
import type { ModbusAddress } from "../../config/port.ts";
import type { PlcAsk } from "../../domain/agent-control.ts";
import { LinkError, PeerClosed } from "../../domain/link-error.ts";
import type { Milliseconds } from "../../domain/units.ts";
import { monotonicMs } from "../../monotonic.ts";
import type { ConnectTimes, PolledWords, ToolConnection, WireExchange, WireTap } from "../port.ts";
import { identify } from "./device-id.ts";
import { MBAP_BYTES, mbapFraming, readAnswer, readPdu, TABLES, wordsIn } from "./framing.ts";
import { askedRead, LATE_ANSWERS, NEVER_LATE } from "./rtu.ts";
import { modbusSession } from "./session.ts";
import { modbusLine, type ModbusLine, type OpenWire } from "./wire.ts";

/** Modbus lines with extras for tools: a line over the agent's connection, a line with a limited pace, and a line with a tap. */

/**
 * Deadline of a read over the agent's connection. The read waits for a gap between polls and then for its answer; the agent's own deadline
 * must expire first.
 */
const SHARED_LINK_ANSWER_MS: Milliseconds = 9_000;

/** Returns a line to a device whose connection the agent holds. The agent carries out each request. */
export function sharedLinkLine(address: ModbusAddress, ask: (ask: PlcAsk) => Promise<Uint8Array>): ModbusLine {
  return {
    ...modbusLine(address, { openWire: askingWire(ask) }),
    makeFraming: () => mbapFraming(),
    // Leaves silences and late answers to the agent.
    silence_ms: 0,
    late: NEVER_LATE,
    numbered: true,
    answer_ms: SHARED_LINK_ANSWER_MS,
  };
}

/** Returns the same line with at least `pace_ms` between the starts of two requests, over all connections of the line. */
export function pacedLine(line: ModbusLine, pace_ms: Milliseconds): ModbusLine {
  let next = -Infinity;
  const openWire: OpenWire = (events) => {
    const wire = line.openWire(events);
    let waiting: ReturnType<typeof setTimeout> | undefined;
    return {
      write: (bytes) => {
        const wait = next - monotonicMs();
        next = Math.max(next, monotonicMs()) + pace_ms;
        // Copies the bytes, because the sender may reuse its buffer.
        const copy = Buffer.from(bytes);
        if (wait <= 0) wire.write(copy);
        else waiting = setTimeout(() => wire.write(copy), wait);
      },
      destroy: (isUnusable) => {
        clearTimeout(waiting);
        wire.destroy(isUnusable);
      },
    };
  };
  return { ...line, openWire };
}

/** Returns a wire that accepts Modbus TCP frames and passes each frame on as a single request. */
function askingWire(ask: (ask: PlcAsk) => Promise<Uint8Array>): OpenWire {
  return (events) => {
    let isOver = false;
    const pass = async (frame: Buffer): Promise<void> => {
      const answer = await ask({ unit: frame.readUInt8(MBAP_BYTES), pdu: frame.subarray(MBAP_BYTES + 1) });
      if (isOver) return;
      const bytes = answerFrame(frame, answer);
      events.data(bytes, bytes.length);
    };
    queueMicrotask(() => (isOver ? undefined : events.connected()));
    return {
      write: (bytes) => {
        pass(Buffer.from(bytes)).catch((error: unknown) => {
          if (isOver) return;
          isOver = true;
          events.down(error instanceof LinkError ? error : new LinkError("closed", errorText(error), error));
        });
      },
      destroy: () => (isOver = true),
    };
  };
}

/** Returns the Modbus TCP frame with the answer to a request. */
export function answerFrame(request: Buffer, pdu: Uint8Array): Buffer {
  const head = Buffer.from(request.subarray(0, MBAP_BYTES + 1));
  head.writeUInt16BE(pdu.length + 1, MBAP_BYTES - 2);
  return Buffer.concat([head, pdu]);
}

/** Returns the same line with a tap: a listener that gets copies of all requests and valid answers. */
export function tappedLine(line: ModbusLine, tap: WireTap): ModbusLine {
  return {
    ...line,
    makeFraming: () => {
      const framing = line.makeFraming();
      let asked: Buffer | null = null;
      return {
        get isAwaiting() {
          return framing.isAwaiting;
        },
        request(request) {
          const bytes = framing.request(request);
          asked = bytes === null ? null : Buffer.from(request);
          if (asked !== null) tap.asked?.(asked);
          return bytes;
        },
        take(bytes, count) {
          const outcome = framing.take(bytes, count);
          if (asked !== null && Buffer.isBuffer(outcome)) tap.answered(asked, Buffer.from(outcome));
          return outcome;
        },
      };
    },
  };
}

/**
 * Decodes a valid answer. Returns null if the request doesn't read a table.
 * @param request unit id and PDU; `answer` has the same form
 */
export function tappedRead(request: Buffer, answer: Buffer): WireExchange | null {
  const table = TABLES[request.readUInt8(1)];
  if (table === undefined) return null;
  const count = request.readUInt16BE(4);
  const about = { unit: request.readUInt8(0), table, address: request.readUInt16BE(2), count };
  return answer.readUInt8(1) === request.readUInt8(1)
    ? { ...about, words: wordsIn(answer.subarray(1), { table, count }), exception: null }
    : { ...about, words: null, exception: answer.readUInt8(2) };
}

/**
 * Remembers the newest word of each polled address, by unit and table. The memory is bounded by the words that the booth's profile polls.
 */
export function polledWords(mono: () => Milliseconds): PolledWords & { readonly tap: WireTap } {
  const tables = new Map<string, Map<number, { readonly word: number; readonly at: Milliseconds }>>();
  return {
    tap: {
      answered(request, answer) {
        const read = tappedRead(request, answer);
        if (read === null || read.words === null) return;
        const key = `${read.unit} ${read.table}`;
        const table = tables.get(key) ?? new Map<number, { word: number; at: Milliseconds }>();
        tables.set(key, table);
        const at = mono();
        for (const [index, word] of read.words.entries()) table.set(read.address + index, { word, at });
      },
    },
    words({ unit, table, address, count }, max_age_ms) {
      const known = tables.get(`${unit} ${table}`);
      const words: number[] = [];
      let oldest = mono();
      for (let at = address; at < address + count; at += 1) {
        const found = known?.get(at);
        if (found === undefined) return null;
        words.push(found.word);
        oldest = Math.min(oldest, found.at);
      }
      const age_ms = mono() - oldest;
      return age_ms <= max_age_ms ? { words, age_ms } : null;
    },
  };
}

/**
 * Makes a connection for tools that ask several units in turn. Meanwhile no driver may use the line. It handles one request at a time.
 * Every promise settles with an answer or a LinkError; a LinkError closes the connection. If the device closes the connection after an
 * answer, the next request opens a new connection.
 */
export function modbusExchange(line: ModbusLine, times: ConnectTimes) {
  let session = modbusSession(line, times);
  /** Number of complete answers over this connection. */
  let answers = 0;
  const askOnce = async (unit: number, pdu: ArrayLike<number>): Promise<Buffer> => {
    // Pauses on a serial line, where devices recognize the start of a request by a silence.
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
  /** Sends a PDU and returns the PDU of the answer. Rejects a PDU that doesn't read. */
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
      // Retries only on a connection that has already answered. A new one has no answers yet, so a request is sent at most twice.
      if (answers === 0 || !(error instanceof PeerClosed)) throw error;
      return ask(unit, pdu);
    }
  };
  return {
    ask,
    open: () => session.open(),
    registers: async (unit, block) => readAnswer(await ask(unit, readPdu(block)), block),
    identify: (unit) => identify((pdu) => ask(unit, pdu)),
    close: () => session.end(new LinkError("closed", message("plc.closed.gateway"))),
  } satisfies ToolConnection & { readonly ask: typeof ask };
}

/** Carries out one read over a shared line; uses the open connection if there is one. Rejects with a LinkError. */
export async function askOverLine(line: ModbusLine, { unit, pdu }: PlcAsk, within_ms: Milliseconds) {
  // Rejects the request while a late answer could be mistaken for its answer. Waiting for the late answer would delay polls.
  if (monotonicMs() < line.late.until(unit)) throw new LinkError("busy", message("plc.busy_unit", { unit }));
  const exchange = modbusExchange(line, { connect_ms: within_ms, answer_ms: Math.min(within_ms, line.answer_ms) });
  try {
    await exchange.open();
    return await exchange.ask(unit, pdu);
  } finally {
    exchange.close();
  }
}
