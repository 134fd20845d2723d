import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { LinkError } from "../../../src/domain/link-error.ts";
import { type Framing, mbapFraming } from "../../../src/acquisition/modbus/framing.ts";
import { lateAnswers, rtuFraming } from "../../../src/acquisition/modbus/rtu.ts";
import { modbusSession } from "../../../src/acquisition/modbus/session.ts";
import { memoryWire } from "./memory-wire.ts";

/** Tests which bytes can leave a connection. Reads of a driver use the same path as `ask`. */

const FRAMINGS: Readonly<Record<string, () => Framing>> = { tcp: mbapFraming, rtu: () => rtuFraming(lateAnswers()) };
const HEADER_BYTES = 7;
const CRC_BYTES = 2;

/** PDUs with the length of a read, of the identification, and with other lengths. */
const bodies = (code: number): readonly (readonly number[])[] => [
  [code, 0, 0, 0, 1],
  [code, 14, 1, 0],
  [code, 13, 0, 0],
  [code],
  [code, 0, 0, 0, 1, 2, 0, 1],
];

const isRead = (pdu: readonly number[]): boolean => {
  const [code = 0, mei, read = 0] = pdu;
  if (code === 43) return pdu.length === 4 && mei === 14 && read >= 1 && read <= 3;
  const count = ((pdu[3] ?? 0) << 8) | (pdu[4] ?? 0);
  return code >= 1 && code <= 4 && pdu.length === 5 && count >= 1 && count <= (code <= 2 ? 2000 : 125);
};

/** Returns the PDUs that were sent over the wire. */
async function sentBy(framing: string, pdu: readonly number[]): Promise<readonly (readonly number[])[]> {
  const wire = memoryWire();
  const line = { openWire: wire.openWire, makeFraming: FRAMINGS[framing] ?? mbapFraming };
  const session = modbusSession(line, { connect_ms: 60_000, answer_ms: 60_000 });
  await session.open();
  const asked = session.ask(1, pdu).catch((error: unknown) => error);
  session.end(new LinkError("closed", "over"));
  const error = await asked;
  expect(error).toBeInstanceOf(LinkError);
  expect((error as LinkError).kind).toBe(wire.sent.length === 0 ? "config" : "closed");
  return wire.sent.map((bytes) =>
    framing === "tcp" ? [...bytes.subarray(HEADER_BYTES)] : [...bytes.subarray(1, -CRC_BYTES)],
  );
}

describe.each(Object.keys(FRAMINGS))("a Modbus connection over %s", (framing) => {
  test("sends requests only with the five function codes that read, and with none of the other 251", async () => {
    const left = new Set<number>();
    for (let code = 0; code < 256; code++) {
      for (const pdu of bodies(code)) {
        const sent = await sentBy(framing, pdu);
        expect(sent).toEqual(isRead(pdu) ? [pdu] : []);
        if (sent.length > 0) left.add(code);
      }
    }
    expect([...left]).toEqual([1, 2, 3, 4, 43]);
  });

  test("sends only valid read requests, whatever bytes it is given", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(255), { minLength: 1, maxLength: 12 }), async (pdu) => {
        expect(await sentBy(framing, pdu)).toEqual(isRead(pdu) ? [pdu] : []);
      }),
    );
  });
});
