import { LinkError } from "../../domain/link-error.ts";
import type { ModbusAddress } from "../../config/port.ts";
import type { PlcAsk } from "../../domain/shared-link.ts";
import type { Milliseconds } from "../../domain/units.ts";
import { NEVER_LATE } from "./late-answers.ts";
import { modbusLine, type ModbusLine } from "./line.ts";
import { MBAP_BYTES } from "./mbap.ts";
import { mbapFraming } from "./mbap-framing.ts";
import type { OpenWire } from "./wire.ts";

/** Longer than a read waits for its turn between polls and then for its answer: the lender knows when to give up. */
export const BORROWED_ANSWER_MS: Milliseconds = 9_000;

/** The line to a device whose connection somebody else holds: each request is carried out there. */
export function sharedLinkLine(address: ModbusAddress, ask: (ask: PlcAsk) => Promise<Uint8Array>): ModbusLine {
  return {
    ...modbusLine(address, { openWire: askingWire(ask) }),
    makeFraming: () => mbapFraming(),
    // Silences and late answers are the lender's business.
    silence_ms: 0,
    late: NEVER_LATE,
    numbered: true,
    answer_ms: BORROWED_ANSWER_MS,
  };
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
