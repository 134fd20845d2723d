import fc from "fast-check";
import modbus from "modbus-serial";
import { describe, expect, test } from "vitest";

import { LinkError } from "../../../src/domain/link-error.ts";
import { crc16 } from "../../../src/acquisition/modbus/crc16.ts";
import { mbapFraming } from "../../../src/acquisition/modbus/mbap-framing.ts";
import { wirePort } from "../../../src/acquisition/modbus/wire-port.ts";
import { modbusSession } from "../../../src/acquisition/modbus/session.ts";
import { memoryWire } from "../../support/memory-wire.ts";
import { failure } from "../../support/modbus-bed.ts";
import { BLOCK, mutatedAnswers, readSpoilt } from "../../support/mutated-modbus.ts";

describe("the port", () => {
  test("20,000 mutated answers: no crash, no value whose frame wasn't whole, every read settles", async () => {
    await fc.assert(mutatedAnswers(), { numRuns: 20_000 });
  });

  test("random bytes are never an answer", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 400 }), async (bytes) => {
        const outcome = await readSpoilt(() => [Buffer.from(bytes)]);
        return outcome instanceof LinkError;
      }),
      { numRuns: 2000 },
    );
  });

  test("nothing but reads can be sent through it", () => {
    const wire = memoryWire();
    const port = wirePort(wire.openWire, mbapFraming())(() => undefined);
    const client = new modbus.default(port);
    return new Promise<void>((resolve, reject) => {
      client.open((error?: Error) => {
        if (error !== undefined) reject(error);
        const ignore = (): void => undefined;
        expect(() => client.writeFC5(1, 0, true, ignore)).toThrow(LinkError);
        expect(() => client.writeFC6(1, 0, 1, ignore)).toThrow(LinkError);
        expect(() => client.writeFC15(1, 0, [true], ignore)).toThrow(LinkError);
        expect(() => client.writeFC16(1, 0, [1], ignore)).toThrow(LinkError);
        expect(() => client.writeFC22(1, 0, 1, 1, ignore)).toThrow(LinkError);
        expect(() => client.writeFC23(1, 0, 1, 0, 1, [1], ignore)).toThrow(LinkError);
        expect(() => client.writeCustomFC(1, 65, [1], ignore)).toThrow(LinkError);
        expect(() => client.writeFC3(1, 0, 126, ignore)).toThrow(LinkError);
        expect(wire.sent).toEqual([]);
        client.writeFC3(1, 0, 125, ignore);
        expect(() => client.writeFC3(1, 0, 125, ignore)).toThrow(LinkError);
        expect(wire.sent.length).toBe(1);
        resolve();
      });
    });
  });

  test("a connection that ends wakes the pending read at once and is destroyed", async () => {
    const wire = memoryWire();
    const session = modbusSession({
      makePort: wirePort(wire.openWire, mbapFraming()),
      unitId: 1,
      connect_ms: 60_000,
      answer_ms: 60_000,
    });
    await session.open();
    wire.onRequest = () => wire.down(new LinkError("reset", "ECONNRESET"));
    expect((await failure(session.read(BLOCK))).kind).toBe("reset");
    expect(wire.destroyed()).toBe(true);
  });

  test("crc16 is the one of the serial line", () => {
    const request = Buffer.from([0x01, 0x03, 0x00, 0x00, 0x00, 0x0a]);
    expect(crc16(request, 0, request.length)).toBe(0xcdc5);
  });
});
