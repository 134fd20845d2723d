import type { ModbusAddress } from "../../config/port.ts";
import type { Milliseconds } from "../../domain/units.ts";
import type { Framing } from "./framing.ts";
import { lateAnswers, NEVER_LATE, type LateAnswers } from "./late-answers.ts";
import { mbapFraming } from "./mbap-framing.ts";
import { rtuFraming } from "./rtu-framing.ts";
import { serialWire } from "./serial-wire.ts";
import { type OpenWire, tcpWire, type Wire, type WireEvents } from "./wire.ts";
import { LinkError } from "../../domain/link-error.ts";

/** One physical way to one or more devices: what their drivers share. At most one of them may be at work at a time. */
export interface ModbusLine {
  readonly openWire: OpenWire;
  readonly makeFraming: () => Framing;
  /** What a byte takes on it; 0: nothing to speak of. */
  readonly byte_ms: Milliseconds;
  /** Silence before each request, so that devices see where it begins. */
  readonly silence_ms: Milliseconds;
  /** Default deadline of an answer. */
  readonly answer_ms: Milliseconds;
  /** What a round trip costs, in the time of one register. */
  readonly round_trip_registers: number;
  /** performance.now() of the last answer or failure on the line. */
  touched_at: number;
  /** Answers that were given up. */
  readonly late: LateAnswers;
  /** Frames carry a number, and a new connection doesn't see what was meant for the old one: nothing can come late. */
  readonly numbered: boolean;
}

/** A PLC answers once per scan (1 to 50 ms) however much is asked for; a register costs microseconds. */
const TCP_ROUND_TRIP_REGISTERS = 500;
const TCP_ANSWER_MS = 2000;
/** Serial devices answer within 100 ms; this is what a dead one costs those that live on its line. */
const RTU_ANSWER_MS = 500;
/** Longest plausible turn-round of a serial device, beside the time of the bytes. */
const RTU_TURN_ROUND_MS = 10;
/** Bytes of a request, of an answer without its data, and of two silences. */
const RTU_ROUND_TRIP_BYTES = 8 + 5 + 7;
/** Start bit, eight data bits, parity or second stop bit, stop bit. */
const BITS_PER_BYTE = 11;
/** Above 19,200 baud the silence stays at 1.75 ms (Modbus over Serial Line V1.02, 2.5.1.1). */
const LEAST_SILENCE_MS = 2;
/** Where nobody says how fast the line behind a converter is. */
const ASSUMED_BAUD_RATE = 9600;

export interface LineOptions {
  /** Instead of the real connection. */
  readonly openWire?: OpenWire;
}

export function modbusLine(address: ModbusAddress, options: LineOptions = {}): ModbusLine {
  const wire = options.openWire ?? openWireOf(address);
  const openWire = sharedWire(wire);
  if (!("serial" in address) && address.framing !== "rtu") {
    const numbers = { last: 0 };
    return {
      openWire,
      makeFraming: () => mbapFraming(numbers),
      byte_ms: 0,
      silence_ms: 0,
      answer_ms: TCP_ANSWER_MS,
      round_trip_registers: TCP_ROUND_TRIP_REGISTERS,
      touched_at: -Infinity,
      late: NEVER_LATE,
      numbered: true,
    };
  }
  const baud = "serial" in address ? address.serial.baud_rate : ASSUMED_BAUD_RATE;
  const byte_ms = (1000 * BITS_PER_BYTE) / baud;
  const late = lateAnswers();
  return {
    openWire,
    makeFraming: () => rtuFraming(late),
    byte_ms,
    silence_ms: Math.max(LEAST_SILENCE_MS, Math.ceil(3.5 * byte_ms)),
    answer_ms: RTU_ANSWER_MS,
    round_trip_registers: Math.ceil((RTU_ROUND_TRIP_BYTES * byte_ms + RTU_TURN_ROUND_MS) / (2 * byte_ms)),
    touched_at: -Infinity,
    late,
    numbered: false,
  };
}

function openWireOf(address: ModbusAddress): OpenWire {
  return "serial" in address ? serialWire(address.serial) : tcpWire(address.host, address.port);
}

/**
 * One physical connection for several drivers of which one at a time is at work: many gateways and PLCs allow no second
 * one, and a serial line is one by nature. It is made when the first driver opens and ended when the last one closes.
 * Whoever leaves a request unanswered ends it for all, so that a late answer finds nobody; the others learn it as
 * `closed` and open anew.
 */
export function sharedWire(openWire: OpenWire): OpenWire {
  const users = new Set<WireEvents>();
  let wire: Wire | null = null;
  let connected = false;
  let active: WireEvents | null = null;

  const end = (error: LinkError): void => {
    const gone = [...users];
    users.clear();
    wire?.destroy(true);
    wire = null;
    active = null;
    connected = false;
    for (const user of gone) user.down(error);
  };
  const events: WireEvents = {
    connected: () => {
      connected = true;
      for (const user of [...users]) user.connected();
    },
    data: (bytes, size) => {
      if (active === null) end(new LinkError("malformed", `${size} bytes that nobody asked for`));
      else active.data(bytes, size);
    },
    down: end,
  };
  return (user) => {
    users.add(user);
    if (wire === null) wire = openWire(events);
    else if (connected) queueMicrotask(() => (users.has(user) ? user.connected() : undefined));
    return {
      write: (bytes) => {
        if (!users.has(user)) return;
        active = user;
        wire?.write(bytes);
      },
      destroy: (unanswered) => {
        if (!users.delete(user)) return;
        if (active === user) active = null;
        if (unanswered || users.size === 0)
          end(new LinkError("closed", "the connection that booths share was made anew"));
      },
    };
  };
}
