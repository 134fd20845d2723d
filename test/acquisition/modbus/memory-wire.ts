import { pattern, usualAnswer } from "./fake-modbus.ts";
import type { LinkError } from "../../../src/domain/link-error.ts";
import type { OpenWire, WireEvents } from "../../../src/acquisition/modbus/wire.ts";

/** A simulated wire without a socket, for tests with thousands of connections or virtual time. */
export interface MemoryWire {
  readonly openWire: OpenWire;
  /** Requests that the driver has sent, oldest first. */
  readonly sent: Buffer[];
  /** Called with each request, after the driver's call has returned. */
  onRequest: (request: Buffer) => void;
  receive(bytes: Buffer): void;
  down(error: LinkError): void;
  readonly destroyed: () => boolean;
}

export function memoryWire(): MemoryWire {
  let events: WireEvents | null = null;
  let destroyed = false;
  const wire: MemoryWire = {
    sent: [],
    onRequest: () => undefined,
    openWire: (given) => {
      events = given;
      queueMicrotask(() => given.connected());
      return {
        write: (bytes) => {
          wire.sent.push(bytes);
          queueMicrotask(() => wire.onRequest(bytes));
        },
        destroy: () => {
          destroyed = true;
        },
      };
    },
    receive: (bytes) => events?.data(bytes, bytes.length),
    down: (error) => events?.down(error),
    destroyed: () => destroyed,
  };
  return wire;
}

/** Returns the right answer to a request. */
export function goodAnswer(request: Buffer): Buffer {
  const parsed = {
    transaction: request.readUInt16BE(0),
    unit: request.readUInt8(6),
    code: request.readUInt8(7),
    address: request.readUInt16BE(8),
    count: request.readUInt16BE(10),
  };
  return usualAnswer({ memory: pattern, holes: () => false }, parsed);
}
