import fc from "fast-check";
import modbus from "modbus-serial";
import { describe, expect, test } from "vitest";

import { LinkError } from "../../../src/domain/link-error.ts";
import { crc16, mbapFraming } from "../../../src/acquisition/modbus/framing.ts";
import { LIBRARY_TRANSACTION, wirePort, modbusSession } from "../../../src/acquisition/modbus/session.ts";
import { memoryWire } from "./memory-wire.ts";
import { failure } from "../driver-calls.ts";
import { pattern } from "./fake-modbus.ts";
import { BLOCK, goodAnswer, mutatedAnswers, readSpoilt } from "./mutated-modbus.ts";

describe("the port", () => {
  test("5,000 mutated answers: no crash, no value whose frame wasn't whole, every read settles", async () => {
    await fc.assert(mutatedAnswers());
  });

  test("random bytes are never an answer", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 400 }), async (bytes) => {
        const outcome = await readSpoilt(() => [Buffer.from(bytes)]);
        return outcome instanceof LinkError;
      }),
    );
  });

  test("nothing but reads can be sent through it", () => {
    const wire = memoryWire();
    const port = wirePort({ openWire: wire.openWire, makeFraming: mbapFraming }, () => undefined);
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

  test("modbus-serial sets and reads of a port what ours has, and keeps one finished request", async () => {
    const wire = memoryWire();
    const port = wirePort({ openWire: wire.openWire, makeFraming: mbapFraming }, () => undefined);
    const touched = { read: new Set<string>(), set: new Map<string, unknown>() };
    const seen = new Proxy(port, {
      get(target, name) {
        touched.read.add(String(name));
        return Reflect.get(target, name) as unknown;
      },
      set(target, name, value) {
        touched.set.set(String(name), value);
        return Reflect.set(target, name, value);
      },
    });
    const client = new modbus.default(seen);
    await new Promise<void>((resolve, reject) => {
      client.open((error?: Error) => (error === undefined ? resolve() : reject(error)));
    });
    wire.onRequest = (request) => wire.receive(goodAnswer(request));
    for (let read = 0; read < 3; read++) {
      const values = await new Promise((resolve) => {
        client.writeFC3(1, 100, 2, (_error, result) => resolve(result.data));
      });
      expect(values).toEqual([pattern(3, 100), pattern(3, 101)]);
    }
    expect(Object.fromEntries(touched.set)).toEqual(LIBRARY_TRANSACTION);
    expect([...touched.read].filter((name) => !(name in port))).toEqual([]);
    expect(port).toMatchObject(LIBRARY_TRANSACTION);
    expect(Object.keys((client as unknown as { _transactions: object })._transactions)).toEqual(["1"]);
  });

  test("what a tool asks and what a driver reads take turns on one connection", async () => {
    const wire = memoryWire();
    const line = { openWire: wire.openWire, makeFraming: mbapFraming };
    const session = modbusSession(line, { connect_ms: 60_000, answer_ms: 60_000 });
    await session.open();
    wire.onRequest = (request) => wire.receive(goodAnswer(request));
    for (let round = 0; round < 3; round++) {
      expect(await session.read(1, BLOCK)).toMatchObject({ kind: "words" });
      const asked = session.ask(7, [3, 0, 100, 0, 1]);
      expect((await failure(session.read(1, BLOCK))).kind).toBe("config");
      expect(await asked).toEqual(Buffer.from([3, 2, pattern(3, 100) >> 8, pattern(3, 100) & 0xff]));
    }
    expect((await failure(session.ask(1, [6, 0, 0, 0, 1]))).kind).toBe("config");
    expect((await failure(session.read(1, BLOCK))).kind).toBe("config");
    expect(wire.sent.length).toBe(6);
    expect(wire.destroyed()).toBe(true);
  });

  test("a connection that ends wakes the pending read at once and is destroyed", async () => {
    const wire = memoryWire();
    const session = modbusSession(
      { openWire: wire.openWire, makeFraming: mbapFraming },
      { connect_ms: 60_000, answer_ms: 60_000 },
    );
    await session.open();
    wire.onRequest = () => wire.down(new LinkError("reset", "ECONNRESET"));
    expect((await failure(session.read(1, BLOCK))).kind).toBe("reset");
    expect(wire.destroyed()).toBe(true);
  });

  test("crc16 is the one of the serial line", () => {
    const request = Buffer.from([0x01, 0x03, 0x00, 0x00, 0x00, 0x0a]);
    expect(crc16(request, 0, request.length)).toBe(0xcdc5);
  });
});
