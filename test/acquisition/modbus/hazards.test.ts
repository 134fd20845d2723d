import { describe, expect, onTestFinished, test } from "vitest";

import { LinkError } from "../../../src/domain/link-error.ts";
import { modbusDriver } from "../../../src/acquisition/modbus/driver.ts";
import { modbusLine } from "../../../src/acquisition/modbus/wire.ts";
import { type FakeScript, frame, pattern } from "./fake-modbus.ts";
import { ANSWER_MS, failure, never, readGroup, SHORT_MS, values } from "../driver-calls.ts";
import { modbusBed, registers } from "./modbus-bed.ts";
import { profileOf } from "../../support/profiles.ts";

const bed = modbusBed();

describe("a Modbus answer", () => {
  const usual = Buffer.from([3, 2, 0x12, 0x34]);
  const cases: Readonly<Record<string, FakeScript>> = {
    "with an old transaction id": (request) => [
      frame({ ...request, transaction: request.transaction - 1 }, [...usual]),
    ],
    "with a future transaction id": (request) => [
      frame({ ...request, transaction: request.transaction + 1 }, [...usual]),
    ],
    "of another unit": (request) => [frame({ ...request, unit: 2 }, [...usual])],
    "with an exception of another unit": (request) => [frame({ ...request, unit: 2 }, [0x83, 2])],
    "of another function": (request) => [frame(request, [4, 2, 0x12, 0x34])],
    "with an exception to another function": (request) => [frame(request, [0x84, 2])],
    "with too many registers": (request) => [frame(request, [3, 4, 1, 2, 3, 4])],
    "with too few registers": (request) => [frame(request, [3, 0])],
    "whose byte count contradicts its length": (request) => [frame(request, [3, 4, 1, 2])],
    "with bytes after its end": (_, answer) => [Buffer.concat([answer, Buffer.from([0])])],
    "sent twice": (_, answer) => [Buffer.concat([answer, answer])],
    "with a huge length": (request) => [Buffer.from([0, request.transaction, 0, 0, 0xff, 0xff, 1, 3, 2])],
    "with length 0": (request) => [Buffer.from([0, request.transaction, 0, 0, 0, 0, 1, 3, 2])],
    "consisting of garbage": () => [Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n")],
    "consisting of an endless stream": () => [Buffer.alloc(100_000, 0x55)],
    "consisting of zeros": () => [Buffer.alloc(260)],
    "with another protocol id": (_, answer) => {
      const changed = Buffer.from(answer);
      changed.writeUInt16BE(1, 2);
      return [changed];
    },
  };
  for (const [name, script] of Object.entries(cases)) {
    test(`${name} is rejected as malformed and ends the connection`, async () => {
      const { driverFor, plc } = bed();
      const driver = await driverFor(registers(1));
      plc.script = script;
      expect((await failure(readGroup(driver, "g"))).kind).toBe("malformed");
      plc.script = null;
      expect((await failure(readGroup(driver, "g"))).kind).toBe("malformed");
      expect(plc.requests.length).toBe(1);
    });

    test(`${name} is followed by a second request over a new connection if the device has answered correctly before`, async () => {
      const { driverFor, plc } = bed();
      const points = registers(1);
      const driver = await driverFor(points);
      await readGroup(driver, "g");
      const [request] = plc.requests;
      plc.script = (...asked) => {
        plc.script = null;
        return script(...asked);
      };
      expect(values(await readGroup(driver, "g"))).toEqual([pattern(3, 0)]);
      expect(plc.requests.length).toBe(3);
      expect(new Set(plc.requests.map(({ transaction }) => transaction)).size).toBe(3);
      expect(plc.requests[2]?.address).toBe(request?.address);
      expect(plc.accepted()).toBe(2);
    });
  }

  test("never becomes a value if the driver did not request it", async () => {
    const { driverFor, plc } = bed();
    plc.script = (_, answer, socket) => {
      setImmediate(() => setImmediate(() => socket.write(answer)));
      return undefined;
    };
    const driver = await driverFor(registers(1));
    for (let reads = 0; reads < 10_000 && plc.accepted() < 2; reads++) {
      // Between two reads the link's owner opens a new connection.
      const samples = await readGroup(driver, "g").catch((error: unknown) => error as LinkError);
      if (samples instanceof LinkError) {
        expect(samples.kind).toBe("closed");
        return;
      }
      expect(values(samples)).toEqual([pattern(3, 0)]);
    }
    expect(plc.accepted()).toBe(2);
  });
});

describe("a late Modbus answer on the next connection", () => {
  test.each([0, 256])("is rejected even after %i requests on that connection were answered", async (more) => {
    const { plc } = bed();
    const line = modbusLine({ host: "127.0.0.1", port: plc.port });
    const profile = profileOf(registers(1));
    const connect = async (answer_ms: number) => {
      const driver = modbusDriver({ line, profile, timeouts: { connect_ms: ANSWER_MS, answer_ms } });
      onTestFinished(() => driver.close());
      await driver.open(never);
      return driver;
    };
    plc.script = () => "silence";
    const first = await connect(SHORT_MS);
    expect((await failure(readGroup(first, "g"))).kind).toBe("timeout");
    const [given_up] = plc.requests;
    if (given_up === undefined) throw new Error("no request came");
    plc.script = (_, answer) =>
      plc.requests.length < 2 + more ? undefined : [frame(given_up, [3, 2, 0xde, 0xad]), answer];
    const next = await connect(ANSWER_MS);
    const read: unknown[] = [];
    const reading = (async () => {
      for (;;) read.push(...values(await readGroup(next, "g")));
    })();
    expect((await failure(reading)).kind).toBe("malformed");
    expect(read).toEqual(Array.from({ length: more }, () => pattern(3, 0)));
  });
});

describe("a Modbus read whose answer stays incomplete", () => {
  test("fails with the reason timeout if only half of the answer arrives before the deadline", async () => {
    const { driverFor, plc } = bed();
    plc.script = (_, answer) => [answer.subarray(0, 8)];
    const driver = await driverFor(registers(1), { timeouts: { answer_ms: SHORT_MS } });
    expect((await failure(readGroup(driver, "g"))).kind).toBe("timeout");
  });

  test("fails with the reason reset if the connection is reset in the middle of the answer", async () => {
    const { driverFor, plc } = bed();
    plc.script = (_, answer, socket) => {
      socket.write(answer.subarray(0, 8), () => socket.resetAndDestroy());
      return "silence";
    };
    const driver = await driverFor(registers(1));
    expect((await failure(readGroup(driver, "g"))).kind).toBe("reset");
  });
});
