import { message, type Text } from "../../domain/message.ts";
import { connect } from "node:net";
import type { SerialPort } from "serialport";
import type { SerialSettings, ModbusAddress } from "../../config/port.ts";
import { LinkError, type LinkErrorKind, PeerClosed } from "../../domain/link-error.ts";
import type { Milliseconds } from "../../domain/units.ts";
import { type Framing, mbapFraming } from "./framing.ts";
import { lateAnswers, NEVER_LATE, type LateAnswers, type LineOddities, noOddities, rtuFraming } from "./rtu.ts";

/** A byte stream to a device. */
export interface Wire {
  write(bytes: Buffer): void;
  /**
   * Ends the connection at once. No event follows.
   * @param isUnusable an answer can still arrive, so a shared wire must be replaced
   */
  destroy(isUnusable: boolean): void;
}

/** Events of a wire. `down` occurs at most once and is the last event. */
export interface WireEvents {
  connected(): void;
  /** Called with received bytes. The buffer is reused after the call. */
  data(bytes: Buffer, size: number): void;
  down(error: LinkError): void;
}

export type OpenWire = (events: WireEvents) => Wire;

/** Size of the receive buffer. An answer has 260 bytes at most; a longer burst is noise, which may take several calls. */
const RECEIVE_BYTES = 1024;

const REFUSED = /^(ECONNREFUSED|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|EADDRNOTAVAIL|ENOTFOUND|EAI_AGAIN)$/;

/** Opens a TCP connection. Received bytes go to one buffer of fixed size, so a flood doesn't use more memory. */
export function tcpWire(host: string, port: number): OpenWire {
  return (events) => {
    const buffer = Buffer.allocUnsafeSlow(RECEIVE_BYTES);
    const socket = connect({
      host,
      port,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: 30_000,
      onread: {
        buffer,
        callback: (size) => {
          events.data(buffer, size);
          return true;
        },
      },
    });
    let over = false;
    const down = (error: LinkError): void => {
      if (over) return;
      over = true;
      socket.destroy();
      events.down(error);
    };
    socket.on("connect", () => {
      if (!over) events.connected();
    });
    socket.on("end", () => down(new PeerClosed("closed", message("plc.closed.device"))));
    socket.on("close", () => down(new LinkError("closed", message("plc.closed.closed"))));
    socket.on("error", (cause: NodeJS.ErrnoException) => {
      const { code = "" } = cause;
      const text = connectionText(`${host}:${port}`, code === "" ? cause.message : code);
      if (REFUSED.test(code)) down(new LinkError("refused", text, cause));
      else if (code === "ETIMEDOUT") down(new LinkError("timeout", text, cause));
      else down(new PeerClosed("reset", text, cause));
    });
    return {
      write: (bytes) => void socket.write(bytes),
      destroy: () => {
        over = true;
        socket.destroy();
      },
    };
  };
}

/** Error codes of failed connections that have their own message. */
const CONNECTION_FAULTS = {
  ECONNREFUSED: "refused",
  ECONNRESET: "reset",
  EHOSTUNREACH: "unreachable",
  ENETUNREACH: "no_network",
  ENOTFOUND: "unknown",
  ETIMEDOUT: "timeout",
} as const;

function connectionText(at: string, error: string): Text {
  const known = Object.entries(CONNECTION_FAULTS).find(([code]) => code === error);
  return known === undefined
    ? message("text.at", { place: at, text: error })
    : message(`plc.connect.${known[1]}`, { at });
}

/** Messages by the error texts of serialport, which has no error codes. */
const REFUSALS: readonly (readonly [RegExp, Text])[] = [
  [/no such file/i, message("plc.serial.no_port")],
  [/permission denied|EACCES/i, message("plc.serial.no_right")],
  [/cannot lock|busy|EBUSY/i, message("plc.serial.taken")],
];

/** Serial ports that this process is closing. The operating system keeps the lock of a port until it is closed. */
const closing = new Map<string, Promise<void>>();

function close(port: SerialPort): void {
  const { path } = port;
  const done = new Promise<void>((resolve) => {
    port.close(() => {
      resolve();
      if (closing.get(path) === done) closing.delete(path);
    });
  });
  closing.set(path, done);
}

/** Opens a serial port. The native package is loaded only if a booth uses a serial port. Bytes received before the opening are dropped. */
export function serialWire({ path, baud_rate, data_bits, parity, stop_bits }: SerialSettings): OpenWire {
  return (events) => {
    let port: SerialPort | null = null;
    let over = false;
    const destroy = (): void => {
      over = true;
      if (port?.isOpen === true) close(port);
    };
    const down = (kind: LinkErrorKind, text: Text, cause?: unknown): void => {
      if (over) return;
      destroy();
      events.down(new LinkError(kind, message("text.at", { place: path, text }), cause));
    };
    const open = async (): Promise<void> => {
      const library = await import("serialport").catch((cause: unknown) => {
        down("config", message("plc.serial.no_package"), cause);
        return null;
      });
      await closing.get(path);
      if (library === null || over) return;
      const settings = { path, baudRate: baud_rate, dataBits: data_bits, parity, stopBits: stop_bits };
      const made = new library.SerialPort({ ...settings, autoOpen: false });
      port = made;
      made.on("data", (bytes: Buffer) => {
        if (!over) events.data(bytes, bytes.length);
      });
      made.on("error", (cause) => down("reset", cause.message, cause));
      made.on("close", () => down("closed", message("plc.serial.gone")));
      made.open((cause) => {
        if (cause !== null) {
          const known = REFUSALS.find(([pattern]) => pattern.test(cause.message));
          down("refused", known?.[1] ?? cause.message, cause);
        } else if (over) {
          close(made);
        } else {
          made.flush(() => (over ? undefined : events.connected()));
        }
      });
    };
    void open();
    return { write: (bytes) => void port?.write(bytes), destroy };
  };
}

/**
 * The physical connection to one or more devices, shared by their drivers while the agent runs. Only one driver uses the connection at a
 * time, which the link loop ensures. It holds state that must outlive a driver: transaction numbers of Modbus TCP, the time of a serial
 * line's last byte, and requests that may be answered late.
 * If a driver ends with a request unanswered, the wire is closed for all drivers, so that no driver receives the late answer. The other
 * drivers get a LinkError "closed" and open the wire again.
 */
export interface ModbusLine {
  readonly openWire: OpenWire;
  readonly makeFraming: () => Framing;
  /** Time that a byte takes on the line; 0: negligible. */
  readonly byte_ms: Milliseconds;
  /** Silence before each request, so that devices recognize the start of the request. */
  readonly silence_ms: Milliseconds;
  /** Default deadline of an answer. */
  readonly answer_ms: Milliseconds;
  /** Cost of a round trip, expressed as the number of registers that take the same time. */
  readonly round_trip_registers: number;
  /** monotonicMs() of the last answer or failure on the line. */
  touched_at: number;
  /** Expired requests whose answers can still arrive. */
  readonly late: LateAnswers;
  /**
   * True if frames carry a number, and a new connection gets no answers of the old one. No late answer can then be mistaken for another.
   */
  readonly numbered: boolean;
  /** Unexpected bytes that were skipped since the agent's start. */
  readonly oddities: Readonly<LineOddities>;
}

/** Cost of a Modbus TCP round trip. A PLC answers once per scan (1 to 50 ms), however large the block; a register costs microseconds. */
const TCP_ROUND_TRIP_REGISTERS = 500;
const TCP_ANSWER_MS = 2000;
/** Deadline of a serial answer. Serial devices answer within 100 ms. A dead device delays the other devices on its line by this time. */
const RTU_ANSWER_MS = 500;
/** Longest plausible time from a serial device's last received byte to its answer. */
const RTU_TURN_ROUND_MS = 10;
/** Bytes of a round trip: a request, an answer without its data, and two silences. */
const RTU_ROUND_TRIP_BYTES = 8 + 5 + 7;
/** Bits of a byte on the line: start bit, eight data bits, parity or second stop bit, stop bit. */
const BITS_PER_BYTE = 11;
/** Shortest silence. Above 19,200 baud the standard's silence is 1.75 ms (Modbus over Serial Line V1.02, 2.5.1.1). */
const LEAST_SILENCE_MS = 2;
/** Speed of the serial line that a TCP converter is connected to; it isn't configured. */
const ASSUMED_BAUD_RATE = 9600;

/** @param given openWire: a function that replaces the real connection */
export function modbusLine(address: ModbusAddress, given: { readonly openWire?: OpenWire } = {}): ModbusLine {
  const openWire =
    given.openWire ?? ("serial" in address ? serialWire(address.serial) : tcpWire(address.host, address.port));
  const oddities = noOddities();
  const shared = { openWire: sharedWire(openWire), touched_at: -Infinity, oddities };
  if (!("serial" in address) && address.framing !== "rtu") {
    const numbers = { last: 0 };
    const habits = { offset: address.transaction_id_offset, unit: address.answer_unit_id };
    return {
      ...shared,
      makeFraming: () => mbapFraming(numbers, habits),
      byte_ms: 0,
      silence_ms: 0,
      answer_ms: TCP_ANSWER_MS,
      round_trip_registers: TCP_ROUND_TRIP_REGISTERS,
      late: NEVER_LATE,
      numbered: true,
    };
  }
  const baud = "serial" in address ? address.serial.baud_rate : ASSUMED_BAUD_RATE;
  const byte_ms = (1000 * BITS_PER_BYTE) / baud;
  const late = lateAnswers();
  return {
    ...shared,
    makeFraming: () => rtuFraming(late, oddities),
    byte_ms,
    silence_ms: Math.max(LEAST_SILENCE_MS, Math.ceil(3.5 * byte_ms)),
    answer_ms: RTU_ANSWER_MS,
    round_trip_registers: Math.ceil((RTU_ROUND_TRIP_BYTES * byte_ms + RTU_TURN_ROUND_MS) / (2 * byte_ms)),
    late,
    numbered: false,
  };
}

/**
 * Shares one wire among several drivers, because many gateways and PLCs allow only one connection. The wire is opened for the first driver
 * and closed after the last one.
 */
function sharedWire(openWire: OpenWire): OpenWire {
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
      if (active === null) end(new LinkError("malformed", message("plc.odd.unasked", { count: size })));
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
      destroy: (isUnusable) => {
        if (!users.delete(user)) return;
        if (active === user) active = null;
        if (isUnusable || users.size === 0) end(new LinkError("closed", message("plc.closed.shared")));
      },
    };
  };
}
