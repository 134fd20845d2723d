import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { pointWidth } from "../../src/core/profile.ts";
import type { ModbusAddress } from "../../src/core/types/config.ts";
import type { FirstOf, ModbusPoint, ModbusTable, ModbusType } from "../../src/core/types/profile.ts";
import { modbusDriver } from "../../src/drivers/modbus/driver.ts";
import { modbusLine } from "../../src/drivers/modbus/line.ts";
import { makeGear, needGear } from "../support/gear.ts";
import { never } from "../support/modbus-bed.ts";
import { point, profileOf } from "../support/profiles.ts";

/** The same values from servers that others wrote and encoded as from our own decoder: every type, every order. */

const PEERS = fileURLToPath(new URL("peers", import.meta.url));
const gear = makeGear();
beforeAll(needGear);
afterAll(gear.end);

const VALUES: readonly (readonly [ModbusType, number | string])[] = [
  ["uint16", 0x1234],
  ["uint16", 65_535],
  ["int16", -2],
  ["int16", -32_768],
  ["bcd16", 9876],
  ["uint32", 0x12345678],
  ["uint32", 4_294_967_295],
  ["int32", -123_456_789],
  ["bcd32", 12_345_678],
  ["float32", 71.1],
  ["float32", -0.000123],
  ["uint64", 9_007_199_254_740_991],
  ["uint64", "18446744073709551614"],
  ["int64", "-9223372036854775807"],
  ["int64", -42],
  ["float64", 123.456],
  ["float64", -1e-300],
  ["string", "AB-12345"],
];
const ORDERS: readonly FirstOf[] = ["high_first", "low_first"];
const BITS = [1, 0, 1, 1, 0, 0, 0, 1, 1];

interface Item {
  readonly address: number;
  readonly type: ModbusType;
  readonly value: number | string;
  readonly byte_order: FirstOf;
  readonly word_order: FirstOf;
}

/** Every value in every order, one behind the other. */
function items(): readonly Item[] {
  let address = 0;
  return ORDERS.flatMap((byte_order) =>
    ORDERS.flatMap((word_order) =>
      VALUES.map(([type, value]): Item => {
        const item = { address, type, value, byte_order, word_order };
        address += pointWidth(pointOf(item, "holding"));
        return item;
      }),
    ),
  );
}

function pointOf({ address, type, byte_order, word_order }: Item, table: ModbusTable): ModbusPoint {
  // A text's characters keep their order whatever the byte order of numbers is.
  if (type === "string") return point({ table, address, type, length: 4 });
  return point({ table, address, type, byte_order, word_order });
}

/** Reads the points from a peer; the values come in the points' order. */
async function readAll(address: ModbusAddress, points: readonly ModbusPoint[]): Promise<readonly unknown[]> {
  const profile = profileOf(points, { max_registers: 60 });
  const timeouts = { answer_ms: 5000 };
  const driver = modbusDriver({ line: modbusLine(address), profile, timeouts });
  await driver.open(never);
  try {
    const samples = await driver.read("g", never);
    return samples.map(({ value, reason }) => value ?? reason);
  } finally {
    await driver.close();
  }
}

const bitPoints = (table: ModbusTable): readonly ModbusPoint[] =>
  BITS.map((_, address) => point({ table, address, type: "bool" }));

async function agrees(address: ModbusAddress, all: readonly Item[]): Promise<void> {
  for (const table of ["holding", "input"] as const) {
    const read = await readAll(
      address,
      all.map((item) => pointOf(item, table)),
    );
    expect(all.map((item, i) => ({ ...item, value: read[i] }))).toEqual(all);
  }
  for (const table of ["coil", "discrete"] as const) {
    expect(await readAll(address, bitPoints(table))).toEqual(BITS.map((bit) => bit === 1));
  }
}

const serial = (path: string): ModbusAddress => ({
  serial: { path, baud_rate: 19_200, data_bits: 8, parity: "none", stop_bits: 1 },
});

describe("pymodbus", () => {
  const all = items().map((item) =>
    item.type === "string" ? { ...item, byte_order: ORDERS[0] ?? item.byte_order } : item,
  );
  const image = `${JSON.stringify({ registers: all, bits: Object.fromEntries(BITS.entries()) })}\n`;
  const script = join(PEERS, "pymodbus_server.py");

  test.each([
    ["tcp", "tcp"],
    ["rtu_tcp", "rtu"],
  ] as const)("says the same over %s", async (mode, framing) => {
    const port = await gear.peer("/usr/bin/python3", [script, mode], image);
    await agrees({ host: "127.0.0.1", port, framing }, all);
  });

  test("says the same over RTU on a serial line", async () => {
    const { near, far } = await gear.ptyPair("pymodbus");
    await gear.peer("/usr/bin/python3", [script, "serial", far], image);
    await agrees(serial(near), all);
  });
});

describe("libmodbus", () => {
  /** What libmodbus converts by itself: floats in four orders, integers high word first; the rest as plain registers. */
  const all = items().filter(
    ({ type, byte_order, word_order }) =>
      type === "float32" ||
      (byte_order === "high_first" &&
        word_order === "high_first" &&
        ["uint16", "int16", "uint32", "int32", "int64"].includes(type)),
  );
  const LETTERS = {
    high_first: { high_first: "abcd", low_first: "cdab" },
    low_first: { high_first: "badc", low_first: "dcba" },
  };
  const KINDS: Readonly<Partial<Record<ModbusType, string>>> = { uint32: "i32", int32: "i32", int64: "i64" };
  const lines = all.map(({ type, value, address, byte_order, word_order }) =>
    type === "float32"
      ? `f32 ${LETTERS[byte_order][word_order]} ${address} ${value}`
      : `${KINDS[type] ?? "u16"} ${address} ${value}`,
  );
  const bits = BITS.map((bit, address) => `bit ${address} ${bit}`);
  const image = `${[...lines, ...bits, "serve"].join("\n")}\n`;
  const program = join(gear.folder, "libmodbus_server");

  beforeAll(() => {
    const flags = execFileSync("pkg-config", ["--cflags", "--libs", "libmodbus"], { encoding: "utf8" })
      .trim()
      .split(/\s+/);
    execFileSync("cc", ["-O1", "-Wall", "-o", program, join(PEERS, "libmodbus_server.c"), ...flags]);
  });

  test("says the same over tcp", async () => {
    const port = await gear.peer(program, ["tcp"], image);
    await agrees({ host: "127.0.0.1", port }, all);
  });

  test("says the same over RTU on a serial line", async () => {
    const { near, far } = await gear.ptyPair("libmodbus");
    await gear.peer(program, ["serial", far], image);
    await agrees(serial(near), all);
  });
});
