import modbus from "modbus-serial";
import { describe, expect, test } from "vitest";

import { LinkError } from "../../../src/domain/link-error.ts";
import { crc16, mbapFraming } from "../../../src/acquisition/modbus/framing.ts";
import { LIBRARY_TRANSACTION, wirePort, modbusSession } from "../../../src/acquisition/modbus/session.ts";
import { goodAnswer, memoryWire } from "./memory-wire.ts";
import { failure } from "../driver-calls.ts";
import { pattern } from "./fake-modbus.ts";
import { mutatedFrames } from "./mutated-frames.ts";

const BLOCK = { table: "holding", address: 100, count: 10 } as const;

test.each(["tcp", "rtu"] as const)("3,000 mutated %s frames: no crash, no wrong value", (framing) => {
  const counts = mutatedFrames(framing, 3_000, 1);
  expect(counts.wrong).toBe(0);
  expect(counts.malformed).toBeGreaterThan(300);
});

test("the transaction id wraps after 65,535 requests, and each request takes its own answer", () => {
  const framing = mbapFraming({ last: 65_530 });
  const read = Buffer.from([1, 3, 0, 100, 0, 10, 0, 0]);
  for (let sent = 0; sent < 10; sent += 1) {
    const request = framing.request(read);
    if (request === null) throw new Error(`request ${sent} was refused`);
    const answer = goodAnswer(request);
    if (!Buffer.isBuffer(framing.take(answer, answer.length))) throw new Error(`answer ${sent} was refused`);
  }
});

describe("the port", () => {
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
