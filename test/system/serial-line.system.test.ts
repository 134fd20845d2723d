// Needs the Debian packages that peer-bed.ts names.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { goodManners } from "../../simulators/plc/manners.ts";
import type { Device } from "../../simulators/plc/modbus-frames.ts";
import { startRtuSerial } from "../../simulators/plc/rtu-server.ts";
import type { Faults } from "../../simulators/network/faults.ts";
import { serialProxy } from "../../simulators/network/serial-proxy.ts";
import { LinkError } from "../../src/domain/link-error.ts";
import type { ModbusAddress } from "../../src/config/port.ts";
import { serialWire } from "../../src/acquisition/modbus/wire.ts";
import { modbusLinks } from "../../src/acquisition/modbus/driver.ts";
import type { Driver } from "../../src/acquisition/port.ts";
import { recordFault } from "../support/faults.ts";
import { needPackages, systemBed } from "./peer-bed.ts";
import { failure, never, readGroup } from "../acquisition/driver-calls.ts";
import { registers } from "../acquisition/modbus/modbus-bed.ts";
import { profileOf } from "../support/profiles.ts";

/** Two units on a serial line (pty pairs), read as a booth's link does: a new driver after each failure. */

const bed = systemBed();
const ends: (() => Promise<void>)[] = [];
beforeAll(needPackages);
afterAll(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  await bed.end();
});

const REGISTERS = 12;
const ANSWER_MS = 120;
/** Every value of another round is another value. */
const valueOf = (unit: number, address: number, round: number): number =>
  (unit * 5000 + address * 97 + round * 13) & 0xffff;

interface Bench {
  round: number;
  readonly units: ReadonlyMap<number, Device>;
}

function bench(): Bench {
  const it = {
    round: 0,
    units: new Map([1, 2].map((id) => [id, unit(id)])),
  };
  function unit(id: number): Device {
    return {
      image: {
        read: ({ address, count }) => Array.from({ length: count }, (_, i) => valueOf(id, address + i, it.round)),
      },
      max_registers: 125,
      max_bits: 2000,
      manners: goodManners(),
      answered_at: -Infinity,
    };
  }
  return it;
}

async function serve(it: Bench, path: string): Promise<void> {
  const sleep = (ms: number, signal?: AbortSignal): Promise<void> => delay(ms, undefined, signal ? { signal } : {});
  const server = await startRtuSerial(
    { deviceOf: (id) => it.units.get(id) ?? null, now: () => performance.now(), sleep },
    path,
  );
  ends.push(() => server.close());
}

interface Reader {
  /** One poll of a unit; gives how many values were wrong, and whether there was an answer. */
  poll(unit: number): Promise<{ readonly wrong: number; readonly answered: boolean }>;
}

function reader(it: Bench, path: string): Reader {
  const wayTo = modbusLinks(() => ({ mono: performance.now(), wall: Date.now() }));
  const profile = profileOf(registers(REGISTERS));
  const address: ModbusAddress = {
    serial: { path, baud_rate: 19_200, data_bits: 8, parity: "even", stop_bits: 1 },
  };
  const ways = new Map(
    [1, 2].map((unit_id) => [unit_id, wayTo({ ...address, unit_id, answer_timeout_ms: ANSWER_MS }, profile)]),
  );
  const drivers = new Map<number, Driver>();
  ends.push(async () => {
    for (const driver of drivers.values()) await driver.close();
  });
  const driverOf = async (unit: number): Promise<Driver> => {
    const known = drivers.get(unit);
    const way = ways.get(unit);
    if (known !== undefined) return known;
    if (way === undefined) throw new Error("no such unit");
    const driver = way.makeDriver();
    drivers.set(unit, driver);
    await driver.open(never);
    return driver;
  };
  return {
    poll: async (unit) => {
      it.round++;
      try {
        const samples = await readGroup(await driverOf(unit), "g");
        const wrong = samples.filter(({ value }, i) => value !== null && value !== valueOf(unit, i, it.round));
        return { wrong: wrong.length, answered: true };
      } catch (error) {
        if (!(error instanceof LinkError)) throw error;
        const driver = drivers.get(unit);
        drivers.delete(unit);
        await driver?.close();
        return { wrong: 0, answered: false };
      }
    },
  };
}

async function polls(read: Reader, count: number): Promise<{ wrong: number; answered: number }> {
  const sum = { wrong: 0, answered: 0 };
  for (let i = 0; i < count; i++) {
    const { wrong, answered } = await read.poll(1 + (i % 2));
    sum.wrong += wrong;
    if (answered) sum.answered++;
  }
  return sum;
}

/** A line out of step never gives ten answers in a row; on a busy machine some come past their deadline, or are still on the line. */
async function tenInARow(read: Reader): Promise<{ wrong: number; lost: number }> {
  const sum = { wrong: 0, lost: 10 };
  for (let turn = 0; turn < 10 && sum.lost > 0; turn++) {
    const { wrong, answered } = await polls(read, 10);
    sum.wrong += wrong;
    sum.lost = 10 - answered;
  }
  return sum;
}

describe("row 17: a serial line", () => {
  const NOISE: Partial<Faults> = { corrupt: 0.1, truncate: 0.1, noise: 0.1, echo: 0.1, drop: 0.1, split_bytes: 1 };

  test("with every kind of noise never gives a wrong value and is read again when it is quiet", async () => {
    const it = bench();
    const front = await bed.ptyPair("front");
    const back = await bed.ptyPair("back");
    await serve(it, back.far);
    const proxy = await serialProxy({ master: front.far, devices: back.near, seed: 5 });
    ends.push(() => proxy.close());
    const quiet = { ...proxy.faults };
    const read = reader(it, front.near);
    expect(await tenInARow(read)).toEqual({ wrong: 0, lost: 0 });
    Object.assign(proxy.faults, NOISE);
    const injectedSoFar = (): number => Object.values(proxy.counts).reduce((sum, count) => sum + count, 0);
    let wrong = 0;
    for (let round = 0; round < 5 && injectedSoFar() <= 10; round++) wrong += (await polls(read, 60)).wrong;
    Object.assign(proxy.faults, quiet);
    const injected = injectedSoFar();
    const after = await tenInARow(read);
    wrong += after.wrong;
    const { lost } = after;
    const passed = wrong + lost === 0;
    recordFault({ row: 17, fault: "serial line, every kind of noise", injected, lost, doubled: 0, wrong, passed });
    expect({ wrong, lost }).toEqual({ wrong: 0, lost: 0 });
    expect(injected).toBeGreaterThan(10);
  });
});

describe("a serial port", () => {
  const open = (path: string): Driver =>
    modbusLinks(() => ({ mono: performance.now(), wall: Date.now() }))(
      { serial: { path, baud_rate: 9600, data_bits: 8, parity: "none", stop_bits: 1 } },
      profileOf(registers(1)),
    ).makeDriver();

  test("that isn't there is refused in a sentence", async () => {
    const error = await failure(open("/dev/ttyNONE").open(never));
    expect(error).toMatchObject({ kind: "refused", message: "/dev/ttyNONE: there is no such serial port" });
  });

  test("that another program has is refused in a sentence", async () => {
    const { near } = await bed.ptyPair("taken");
    const first = open(near);
    const second = open(near);
    await first.open(never);
    const error = await failure(second.open(never));
    expect(error).toMatchObject({ kind: "refused", message: `${near}: another program has the serial port` });
    await first.close();
  });
});

/** So many at once that a port is still being closed, by another thread, when its next opening begins. */
const LINES = 12;
const OPENINGS = 200;

test("a port that was closed just now is opened again at once", async () => {
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
