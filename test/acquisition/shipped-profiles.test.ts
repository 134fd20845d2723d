import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";

import { findProfile, profileNames } from "../../src/config/profile.ts";
import { widthOf } from "../../simulators/plc/encode.ts";
import type { ModbusTable } from "../../src/domain/profile.ts";
import { modbusDriver } from "../../src/acquisition/modbus/driver.ts";
import { modbusLine } from "../../src/acquisition/modbus/wire.ts";
import { fakeModbus } from "./modbus/fake-modbus.ts";
import { never, readGroup } from "./driver-calls.ts";

/** A device's recorded memory and its meaning. */
type Image = Partial<Record<ModbusTable, Readonly<Record<string, readonly number[]>>>> & {
  readonly expected: Readonly<Record<string, unknown>>;
};

const FUNCTIONS: Readonly<Record<ModbusTable, number>> = { coil: 1, discrete: 2, holding: 3, input: 4 };

function imageOf(name: string): Image {
  return parse(readFileSync(new URL(`../config/images/${name}.yaml`, import.meta.url), "utf8")) as Image;
}

function memoryOf(image: Image): ReadonlyMap<string, number> {
  const tables = Object.entries(FUNCTIONS) as [ModbusTable, number][];
  return new Map(
    tables.flatMap(([table, code]) =>
      Object.entries(image[table] ?? {}).flatMap(([first, values]) =>
        values.map((value, i) => [`${code} ${Number(first) + i}`, value] as const),
      ),
    ),
  );
}

const MODBUS = profileNames()
  .map((name) => findProfile(name))
  .filter((profile) => profile.protocol === "modbus");

test("every shipped Modbus profile has a register image", () => {
  expect(MODBUS.length).toBeGreaterThanOrEqual(6);
  for (const { name } of MODBUS) expect(Object.keys(imageOf(name).expected).length).toBeGreaterThan(0);
});

test.each(MODBUS)("the driver reads the register image of profile $name as the documented values", async (profile) => {
  const image = imageOf(profile.name);
  const memory = memoryOf(image);
  for (const { name: tag, point } of profile.tags) {
    const places = Array.from({ length: widthOf(point) }, (_, i) => `${FUNCTIONS[point.table]} ${point.address + i}`);
    expect({ tag, missing: places.filter((place) => !memory.has(place)) }).toEqual({ tag, missing: [] });
  }
  const plc = await fakeModbus();
  plc.memory = (code, address) => memory.get(`${code} ${address}`) ?? 0;
  plc.holes = (code, address) => {
    const table = (Object.keys(FUNCTIONS) as ModbusTable[]).find((known) => FUNCTIONS[known] === code);
    const holes = table === undefined ? [] : (profile.quirks.holes[table] ?? []);
    return holes.some(([first, last]) => address >= first && address <= last);
  };
  const driver = modbusDriver({ line: modbusLine({ host: "127.0.0.1", port: plc.port }), profile });
  await driver.open(never);
  const read: Record<string, unknown> = {};
  for (const group of Object.keys(profile.groups)) {
    for (const { tag, value } of await readGroup(driver, group)) read[tag] = value;
  }
  await driver.close();
  expect(read).toEqual(image.expected);
  expect(plc.requests.every(({ unit, count }) => unit === profile.quirks.unit_id && count <= 125)).toBe(true);
  const refused = plc.requests.filter(({ code, address, count }) =>
    Array.from({ length: count }, (_, i) => plc.holes(code, address + i)).some(Boolean),
  );
  expect(refused).toEqual([]);
  await plc.stop();
});
