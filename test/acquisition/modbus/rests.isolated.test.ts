import { expect, onTestFinished, test, vi } from "vitest";

import { modbusDriver } from "../../../src/acquisition/modbus/driver.ts";
import { modbusLine } from "../../../src/acquisition/modbus/wire.ts";
import { pattern } from "./fake-modbus.ts";
import { goodAnswer, memoryWire } from "./memory-wire.ts";
import { failure, never, readGroup } from "../driver-calls.ts";
import { point, profileOf } from "../../support/profiles.ts";

test("the driver waits after connecting and between requests for the times that the profile sets", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const wire = memoryWire();
  wire.onRequest = (request) => wire.receive(goodAnswer(request));
  const profile = profileOf([point(), point({ address: 9000 })], { min_gap_ms: 50, connect_delay_ms: 300 });
  const driver = modbusDriver({ line: modbusLine({ host: "", port: 0 }, { openWire: wire.openWire }), profile });
  let opened = false;
  const opening = driver.open(never).then(() => {
    opened = true;
  });
  await vi.advanceTimersByTimeAsync(299);
  expect(opened).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  await opening;
  const reading = readGroup(driver, "g");
  await vi.advanceTimersByTimeAsync(49);
  expect(wire.sent.length).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(wire.sent.length).toBe(2);
  expect((await reading).map(({ value }) => value)).toEqual([pattern(3, 0), pattern(3, 9000)]);
  const again = failure(readGroup(driver, "g"));
  await driver.close(); // during the pause before the next request
  expect((await again).kind).toBe("closed");
});
