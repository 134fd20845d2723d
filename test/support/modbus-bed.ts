import { afterEach, beforeEach } from "vitest";

import { LinkError } from "../../src/domain/link-error.ts";
import type { ModbusPoint } from "../../src/domain/profile.ts";
import { modbusDriver, type ModbusDriver, type ModbusDriverOptions } from "../../src/acquisition/modbus/driver.ts";
import { modbusLine } from "../../src/acquisition/modbus/line.ts";
import type { Sample } from "../../src/domain/sample.ts";
import { fakeModbus, type FakeModbus } from "./fake-modbus.ts";
import { point, profileOf } from "./profiles.ts";

/** Long enough for a slow machine, short beside the suite's time-out. */
export const ANSWER_MS = 10_000;
/** Where the deadline itself is the subject. */
export const SHORT_MS = 150;

/** A signal that is never aborted. */
export const never = new AbortController().signal;

export interface ModbusBed {
  readonly plc: FakeModbus;
  /** An open driver for these points, in group g; closed after the test. */
  readonly driverFor: (points: readonly ModbusPoint[], more?: Partial<ModbusDriverOptions>) => Promise<ModbusDriver>;
}

/** A fresh fake device for each test of the file. */
export function modbusBed(): () => ModbusBed {
  let plc: FakeModbus | null = null;
  const drivers: ModbusDriver[] = [];
  beforeEach(async () => {
    plc = await fakeModbus();
  });
  afterEach(async () => {
    await Promise.all(drivers.splice(0).map((driver) => driver.close()));
    await plc?.stop();
  });
  return () => {
    const device = plc;
    if (device === null) throw new Error("only inside a test");
    return {
      plc: device,
      driverFor: async (points, more = {}) => {
        const timeouts = { connect_ms: ANSWER_MS, answer_ms: ANSWER_MS };
        const profile = profileOf(points);
        const driver = modbusDriver({
          line: modbusLine({ host: "127.0.0.1", port: device.port }),
          profile,
          timeouts,
          ...more,
        });
        drivers.push(driver);
        await driver.open(never);
        return driver;
      },
    };
  };
}

/** `count` uint16 holding registers in a row. */
export function registers(count: number, from = 0): ModbusPoint[] {
  return Array.from({ length: count }, (_, i) => point({ address: from + i }));
}

/** The LinkError that a promise rejects with; anything else fails the test. */
export async function failure(promise: Promise<unknown>): Promise<LinkError> {
  const error: unknown = await promise.then(
    () => new Error("it resolved"),
    (reason: unknown) => reason,
  );
  if (error instanceof LinkError) return error;
  throw new Error("not a LinkError", { cause: error });
}

export const values = (samples: readonly Sample[]): unknown[] => samples.map(({ value }) => value);
