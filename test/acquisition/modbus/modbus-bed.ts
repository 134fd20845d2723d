import { afterEach, beforeEach } from "vitest";
import type { ModbusPoint } from "../../../src/domain/profile.ts";
import { modbusDriver, type ModbusDriverOptions } from "../../../src/acquisition/modbus/driver.ts";
import type { Driver } from "../../../src/acquisition/port.ts";
import { modbusLine } from "../../../src/acquisition/modbus/wire.ts";
import { ANSWER_MS, never } from "../driver-calls.ts";
import { fakeModbus, type FakeModbus } from "./fake-modbus.ts";
import { point, profileOf } from "../../support/profiles.ts";

export interface ModbusBed {
  readonly plc: FakeModbus;
  /** Opens a driver for these points in group g. The test's end closes it. */
  readonly driverFor: (points: readonly ModbusPoint[], more?: Partial<ModbusDriverOptions>) => Promise<Driver>;
}

/** Starts a new fake device for each test of the file. */
export function modbusBed(): () => ModbusBed {
  let plc: FakeModbus | null = null;
  const drivers: Driver[] = [];
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

/** Returns points for `count` consecutive uint16 holding registers. */
export function registers(count: number, from = 0): ModbusPoint[] {
  return Array.from({ length: count }, (_, i) => point({ address: from + i }));
}
