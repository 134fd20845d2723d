import { render } from "../../../src/domain/messages/render.ts";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";

import { frame } from "./fake-modbus.ts";
import { mbapFraming } from "../../../src/acquisition/modbus/framing.ts";
import { modbusDriver } from "../../../src/acquisition/modbus/driver.ts";
import { modbusLine } from "../../../src/acquisition/modbus/wire.ts";
import { adviceFor, LINK_ERROR_KINDS, LinkError } from "../../../src/domain/link-error.ts";
import { point, profileOf } from "../../support/profiles.ts";
import { ANSWER_MS, failure, never, readGroup, values } from "../driver-calls.ts";
import { pattern } from "./fake-modbus.ts";
import { modbusBed } from "./modbus-bed.ts";

const bed = modbusBed();
const TIMES = { connect_ms: ANSWER_MS, answer_ms: ANSWER_MS };

function driverWith(more: { readonly transaction_id_offset?: number; readonly answer_unit_id?: number }) {
  const line = modbusLine({ host: "127.0.0.1", port: bed().plc.port, ...more });
  const driver = modbusDriver({ line, profile: profileOf([point({ address: 4 })]), timeouts: TIMES });
  onTestFinished(() => driver.close());
  return driver;
}

describe("a device whose transaction ids are off by one", () => {
  test.each([1, -1])(
    "with the offset %i, fails with advice to set transaction_id_offset, and is read correctly with that setting",
    async (offset) => {
      const { plc } = bed();
      plc.script = (request) => [
        frame({ ...request, transaction: request.transaction + offset }, [3, 2, ...word(request.address)]),
      ];
      const driver = driverWith({});
      await driver.open(never);
      const error = await failure(readGroup(driver, "g"));
      expect(error.kind).toBe("malformed");
      expect(render(adviceFor(error, "127.0.0.1:502"))).toContain(`transaction_id_offset: ${offset}`);
      const set = driverWith({ transaction_id_offset: offset });
      await set.open(never);
      for (let i = 0; i < 3; i++) expect(values(await readGroup(set, "g"))).toEqual([pattern(3, 4)]);
    },
  );
});

describe("a device that answers as unit 0", () => {
  test("fails with advice to set answer_unit_id, and is read correctly with that setting", async () => {
    const { plc } = bed();
    plc.script = (request) => [frame({ ...request, unit: 0 }, [3, 2, ...word(request.address)])];
    const driver = driverWith({});
    await driver.open(never);
    const error = await failure(readGroup(driver, "g"));
    expect(render(adviceFor(error, "127.0.0.1:502"))).toContain("answer_unit_id: 0");
    const set = driverWith({ answer_unit_id: 0 });
    await set.open(never);
    expect(values(await readGroup(set, "g"))).toEqual([pattern(3, 4)]);
  });
});

const word = (address: number): readonly number[] => [pattern(3, address) >> 8, pattern(3, address) & 0xff];

/** A request for two holding registers of unit 1. */
const REQUEST = Buffer.from([1, 3, 0, 4, 0, 2]);

test("an answer is rejected if its transaction id or unit differs from the one that the settings expect", () => {
  const numbers = fc.record({ transaction: fc.nat(4), unit: fc.nat(3), offset: fc.integer({ min: -1, max: 1 }) });
  fc.assert(
    fc.property(numbers, fc.nat(2), ({ transaction, unit, offset }, answerUnit) => {
      const framing = mbapFraming({ last: 1 }, { offset, unit: answerUnit });
      framing.request(REQUEST);
      const answer = frame({ transaction, unit }, [3, 4, 1, 2, 3, 4]);
      const outcome = framing.take(answer, answer.length);
      const isRight = transaction === 2 + offset && unit === answerUnit;
      // The returned answer has the requested unit.
      return isRight ? Buffer.isBuffer(outcome) && outcome[0] === 1 : outcome instanceof LinkError;
    }),
    { seed: 3 },
  );
});

test("an answer whose transaction id is off by more than one is malformed, without special advice", () => {
  const framing = mbapFraming({ last: 10 });
  framing.request(REQUEST);
  const answer = frame({ transaction: 3, unit: 1 }, [3, 4, 1, 2, 3, 4]);
  expect(framing.take(answer, answer.length)).toMatchObject({ kind: "malformed", advice: null });
});

test.each(LINK_ERROR_KINDS)(
  "the advice for a failed serial line (%s) mentions no address, port or connection",
  (kind) => {
    expect(render(adviceFor({ kind, advice: null }, "/dev/serial/by-id/usb-1"))).not.toMatch(
      /address and port|connection/,
    );
    expect(adviceFor({ kind, advice: null }, "192.0.2.1:502")).toEqual(
      adviceFor({ kind, advice: null }, "opc.tcp://plc:4840/a"),
    );
  },
);
