import type { ModbusAddress } from "../../core/types/config.ts";
import type { Milliseconds } from "../../core/types/units.ts";
import type { Framing } from "./framing.ts";
import { mbapFraming } from "./mbap-framing.ts";
import { rtuFraming } from "./rtu-framing.ts";
import { serialWire } from "./serial-wire.ts";
import { sharedWire } from "./shared-wire.ts";
import { tcpWire } from "./wire.ts";
import type { OpenWire } from "./wire.ts";

/** One physical way to one or more devices: what their drivers share. At most one of them may be at work at a time. */
export interface ModbusLine {
  readonly openWire: OpenWire;
  readonly makeFraming: () => Framing;
  /** Silence before each request, so that devices see where it begins. */
  readonly silence_ms: Milliseconds;
  /** Default deadline of an answer. */
  readonly answer_ms: Milliseconds;
  /** What a round trip costs, in the time of one register. */
  readonly round_trip_registers: number;
  /** performance.now() of the last answer or failure on the line. */
  touched_at: number;
  /** Until when (performance.now()) an answer that was given up may still come, by unit: that unit isn't asked before. */
  readonly late_until: Map<number, number>;
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
      silence_ms: 0,
      answer_ms: TCP_ANSWER_MS,
      round_trip_registers: TCP_ROUND_TRIP_REGISTERS,
      touched_at: -Infinity,
      late_until: new Map(),
      numbered: true,
    };
  }
  const baud = "serial" in address ? address.serial.baud_rate : ASSUMED_BAUD_RATE;
  const byte_ms = (1000 * BITS_PER_BYTE) / baud;
  const late_until = new Map<number, number>();
  const isLate = (unit: number): boolean => performance.now() < (late_until.get(unit) ?? -Infinity);
  return {
    openWire,
    makeFraming: () => rtuFraming(isLate),
    silence_ms: Math.max(LEAST_SILENCE_MS, Math.ceil(3.5 * byte_ms)),
    answer_ms: RTU_ANSWER_MS,
    round_trip_registers: Math.ceil((RTU_ROUND_TRIP_BYTES * byte_ms + RTU_TURN_ROUND_MS) / (2 * byte_ms)),
    touched_at: -Infinity,
    late_until,
    numbered: false,
  };
}

function openWireOf(address: ModbusAddress): OpenWire {
  return "serial" in address ? serialWire(address.serial) : tcpWire(address.host, address.port);
}
