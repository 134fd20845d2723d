import fc from "fast-check";
import modbus from "modbus-serial";
import { describe, expect, test } from "vitest";

import { LinkError } from "../../../src/domain/link-error.ts";
import { type Framing, mbapFraming } from "../../../src/acquisition/modbus/framing.ts";
import { lateAnswers, rtuFraming } from "../../../src/acquisition/modbus/rtu.ts";
import { modbusSession, wirePort } from "../../../src/acquisition/modbus/session.ts";
import { memoryWire, type MemoryWire } from "./memory-wire.ts";

/** What can leave a connection, whichever of its two faces is asked: `ask`, or the port that modbus-serial writes to. */

const FRAMINGS: Readonly<Record<string, () => Framing>> = { tcp: mbapFraming, rtu: () => rtuFraming(lateAnswers()) };
const HEADER_BYTES = 7;
const CRC_BYTES = 2;

/** Function, two numbers: as long as a read's request, or as the identification's. */
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

function lineOver({ openWire }: MemoryWire, framing: string) {
  return { openWire, makeFraming: FRAMINGS[framing] ?? mbapFraming };
}

/** The PDUs that went over the wire. */
async function sentByAsk(framing: string, pdu: readonly number[]): Promise<readonly (readonly number[])[]> {
  const wire = memoryWire();
  const session = modbusSession(lineOver(wire, framing), { connect_ms: 60_000, answer_ms: 60_000 });
  await session.open();
  const asked = session.ask(1, pdu).catch((error: unknown) => error);
  session.end(new LinkError("closed", "over"));
  const error = await asked;
  expect(error).toBeInstanceOf(LinkError);
  expect((error as LinkError).kind).toBe(wire.sent.length === 0 ? "config" : "closed");
  return wire.sent.map((bytes) => pduOf(framing, bytes));
}

/** The same, of what modbus-serial would write. */
async function sentByLibrary(framing: string, pdu: readonly number[]): Promise<readonly (readonly number[])[]> {
  const wire = memoryWire();
  const port = wirePort(lineOver(wire, framing), () => undefined);
  const client = new modbus.default(port);
  await new Promise<void>((resolve) => client.open(() => resolve()));
  const [code = 0, ...data] = pdu;
  try {
    client.writeCustomFC(1, code, data, () => undefined);
  } catch (error) {
    expect(error).toBeInstanceOf(LinkError);
  }
  port.destroy();
  return wire.sent.map((bytes) => pduOf(framing, bytes));
}

function pduOf(framing: string, bytes: Buffer): readonly number[] {
  return framing === "tcp" ? [...bytes.subarray(HEADER_BYTES)] : [...bytes.subarray(1, -CRC_BYTES)];
}

describe.each(Object.keys(FRAMINGS))("over %s", (framing) => {
  test.each([
    ["ask", sentByAsk],
    ["modbus-serial's port", sentByLibrary],
  ] as const)("of all 256 function codes %s lets out those that read, and nothing else", async (_face, sentBy) => {
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

  test("any bytes at all through either: only what reads goes out", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(255), { minLength: 1, maxLength: 12 }), async (pdu) => {
        const allowed = isRead(pdu) ? [pdu] : [];
        expect(await sentByAsk(framing, pdu)).toEqual(allowed);
        expect(await sentByLibrary(framing, pdu)).toEqual(allowed);
      }),
      { numRuns: 300 },
    );
  });
});
