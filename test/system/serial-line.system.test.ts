// Needs the Debian packages that peer-bed.ts names.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { modbusLinks } from "../../src/acquisition/modbus/driver.ts";
import type { Driver } from "../../src/acquisition/port.ts";
import type { LinkError } from "../../src/domain/link-error.ts";
import { serialWire } from "../../src/acquisition/modbus/wire.ts";
import { failure, never } from "../acquisition/driver-calls.ts";
import { registers } from "../acquisition/modbus/modbus-bed.ts";
import { profileOf } from "../support/profiles.ts";
import { needPackages, systemBed } from "./peer-bed.ts";

const bed = systemBed();
beforeAll(needPackages);
afterAll(() => bed.end());

describe("the serial driver", () => {
  const open = (path: string): Driver =>
    modbusLinks(() => ({ mono: performance.now(), wall: Date.now() }))(
      { serial: { path, baud_rate: 9600, data_bits: 8, parity: "none", stop_bits: 1 } },
      profileOf(registers(1)),
    ).makeDriver();

  test("reports a port that does not exist as refused, with the port's name", async () => {
    const error = await failure(open("/dev/ttyNONE").open(never));
    expect(error).toMatchObject({ kind: "refused", message: "/dev/ttyNONE: the serial port does not exist" });
  });

  test("reports a port that another program uses as refused, with the port's name", async () => {
    const { near } = await bed.ptyPair("taken");
    const first = open(near);
    const second = open(near);
    await first.open(never);
    const error = await failure(second.open(never));
    expect(error).toMatchObject({ kind: "refused", message: `${near}: another program uses the serial port` });
    await first.close();
  });
});

/** Number of lines, high enough that a port is opened again while another thread still closes it. */
const LINES = 12;
const OPENINGS = 200;

test("the serial driver reopens a port immediately after closing it", async () => {
  const refused: string[] = [];
  const openAgainAndAgain = async (line: number): Promise<void> => {
    const { near: path } = await bed.ptyPair(`again-${line}`);
    const openWire = serialWire({ path, baud_rate: 19_200, data_bits: 8, parity: "even", stop_bits: 1 });
    for (let opening = 0; opening < OPENINGS; opening += 1) {
      await new Promise<void>((resolve) => {
        const down = (error: LinkError): void => {
          refused.push(error.message);
          resolve();
        };
        const connected = (): void => {
          wire.destroy(false);
          resolve();
        };
        const wire = openWire({ connected, data: () => undefined, down });
      });
    }
  };
  await Promise.all(Array.from({ length: LINES }, (_, line) => openAgainAndAgain(line)));
  expect(refused).toEqual([]);
});
