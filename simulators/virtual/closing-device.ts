import type { Driver } from "../../src/acquisition/port.ts";
import { emptyMemory, modbusDriver } from "../../src/acquisition/modbus/driver.ts";
import { modbusLine, type OpenWire } from "../../src/acquisition/modbus/wire.ts";
import { PeerClosed } from "../../src/domain/link-error.ts";
import type { ModbusProfile } from "../../src/domain/profile.ts";
import { recordText } from "../../src/domain/record-text.ts";
import type { SimClock } from "../clock.ts";
import { goodManners } from "../plc/manners.ts";
import type { Booth } from "../plc/model/booth.ts";
import { answer, type Device, frame, parseFrames } from "../plc/modbus-frames.ts";
import { registerImage } from "../plc/registers.ts";

/**
 * When the gateway learns that the device has closed the connection: together with the complete response, or, if the next request
 * follows at once, only after that was written.
 */
export const CLOSES_WHEN = ["with_the_response", "after_the_next_request"] as const;
export type ClosesWhen = (typeof CLOSES_WHEN)[number];

interface ClosingDeviceOptions {
  readonly booth: Booth;
  readonly profile: ModbusProfile;
  readonly clock: Pick<SimClock, "wall"> & { mono(): number };
  readonly when: ClosesWhen;
}

/** A PLC that answers one request on each connection and then closes it. */
export interface ClosingDevice {
  /** The agent's own Modbus driver, connected to this device. All drivers share what is learned about the device. */
  makeDriver(): Driver;
}

/**
 * Runs the agent's own Modbus driver without sockets. Each response arrives in the same turn as its request, so that no deadline of
 * the driver, which are in real time, passes under a virtual clock.
 */
export function closingDevice({ booth, profile, clock, when }: ClosingDeviceOptions): ClosingDevice {
  const { max_registers, max_bits } = profile.quirks;
  const device: Device = {
    image: registerImage(profile, booth),
    max_registers,
    max_bits,
    manners: goodManners(),
    answered_at: -Infinity,
  };
  const respond = (request: Buffer): Buffer => {
    const [asked] = parseFrames(request).requests;
    if (asked === undefined) throw new Error("the driver sent something that is no request");
    return frame(asked, answer(device, asked, clock.wall()).pdu);
  };
  const line = modbusLine({ host: "127.0.0.1", port: 502 }, { openWire: closingWire(respond, when) });
  const memory = emptyMemory();
  return { makeDriver: () => modbusDriver({ line, profile, memory, mono: () => clock.mono() }) };
}

function closingWire(respond: (request: Buffer) => Buffer, when: ClosesWhen): OpenWire {
  return (events) => {
    let isOver = false;
    let isAnswered = false;
    const later = (act: () => void): void => queueMicrotask(() => (isOver ? undefined : act()));
    const close = (): void => {
      if (isOver) return;
      isOver = true;
      events.down(new PeerClosed("closed", recordText("plc.closed.device")));
    };
    later(() => events.connected());
    return {
      write: (bytes) => {
        if (isAnswered) {
          later(close);
          return;
        }
        isAnswered = true;
        const response = respond(Buffer.from(bytes));
        later(() => {
          events.data(response, response.length);
          if (when === "with_the_response") later(close);
          else setImmediate(close);
        });
      },
      destroy: () => void (isOver = true),
    };
  };
}
