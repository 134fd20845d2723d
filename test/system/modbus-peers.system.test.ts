// Needs the Debian packages that peer-bed.ts names.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import {
  type FirstOf,
  type ModbusPoint,
  type ModbusTable,
  type ModbusType,
  pointWidth,
} from "../../src/domain/profile.ts";
import type { ModbusAddress } from "../../src/config/port.ts";
import { modbusDriver } from "../../src/acquisition/modbus/driver.ts";
import { modbusLine } from "../../src/acquisition/modbus/wire.ts";
import { until } from "../support/eventually.ts";
import { needPackages, systemBed, PYMODBUS_SERVER } from "./peer-bed.ts";
import { never, readGroup } from "../acquisition/driver-calls.ts";
import { point, profileOf } from "../support/profiles.ts";

/** Checks the driver's decoder against values that pymodbus encoded: every type, every byte and word order. */

const bed = systemBed();
beforeAll(needPackages);
afterAll(bed.end);

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

/** Returns every value in every order at consecutive addresses. */
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
  // The byte order of numbers doesn't affect the order of a text's characters.
  if (type === "string") return point({ table, address, type, length: 4 });
  return point({ table, address, type, byte_order, word_order });
}

/** Reads the points from a peer and returns the values in the order of the points. */
async function readAll(address: ModbusAddress, points: readonly ModbusPoint[]): Promise<readonly unknown[]> {
  const profile = profileOf(points, { max_registers: 60 });
  const timeouts = { answer_ms: 5000 };
  const driver = modbusDriver({ line: modbusLine(address), profile, timeouts });
  await driver.open(never);
  try {
    const samples = await readGroup(driver, "g");
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

/**
 * Starts socat between a TCP port and the serial line, which gives RTU over TCP like a serial device server. It accepts
 * one connection at a time, because leftovers of an earlier connection would take answers from the line.
 */
async function behindSocat(path: string): Promise<ModbusAddress> {
  const port = await freePort();
  bed.start("socat", [`TCP-LISTEN:${port},bind=127.0.0.1,reuseaddr,fork,max-children=1,nodelay`, `${path},raw,echo=0`]);
  await until(() => isOpen(port), "socat listens");
  return { host: "127.0.0.1", port, framing: "rtu" };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** Looks the port up in the kernel's table of sockets. A trial connection would use the only connection to the line. */
function isOpen(port: number): boolean {
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  return readFileSync("/proc/net/tcp", "utf8").includes(`0100007F:${hex} 00000000:0000 0A`);
}

describe("the Modbus driver with a pymodbus server", () => {
  const all = items().map((item) =>
    item.type === "string" ? { ...item, byte_order: ORDERS[0] ?? item.byte_order } : item,
  );
  const image = `${JSON.stringify({ registers: all, bits: Object.fromEntries(BITS.entries()) })}\n`;

  test.each([
    ["tcp", "tcp"],
    ["rtu_tcp", "rtu"],
  ] as const)("decodes every type in every byte and word order over %s", async (mode, framing) => {
    const port = await bed.peer("/usr/bin/python3", [PYMODBUS_SERVER, mode], image);
    await agrees({ host: "127.0.0.1", port, framing }, all);
  });

  test("decodes every type in every byte and word order over RTU on a serial line", async () => {
    const { near, far } = await bed.ptyPair("pymodbus");
    await bed.peer("/usr/bin/python3", [PYMODBUS_SERVER, "serial", far], image);
    await agrees(serial(near), all);
  });

  test("decodes every type in every byte and word order over RTU behind a TCP port of socat", async () => {
    const { near, far } = await bed.ptyPair("pymodbus-socat");
    await bed.peer("/usr/bin/python3", [PYMODBUS_SERVER, "serial", far], image);
    await agrees(await behindSocat(near), all);
  });
});
