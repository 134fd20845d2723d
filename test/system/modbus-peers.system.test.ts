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

/** Checks our decoder against values that pymodbus encoded: every type, every byte and word order. */

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
 * RTU over TCP as a serial device server gives it: socat between a port and the line. One connection at a time: what the
 * one before has left behind would take answers from the line.
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

/** Listening, by the kernel's own table: a trial connection would take the line from whoever comes next. */
function isOpen(port: number): boolean {
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  return readFileSync("/proc/net/tcp", "utf8").includes(`0100007F:${hex} 00000000:0000 0A`);
}

describe("driver against pymodbus", () => {
  const all = items().map((item) =>
    item.type === "string" ? { ...item, byte_order: ORDERS[0] ?? item.byte_order } : item,
  );
  const image = `${JSON.stringify({ registers: all, bits: Object.fromEntries(BITS.entries()) })}\n`;

  test.each([
    ["tcp", "tcp"],
    ["rtu_tcp", "rtu"],
  ] as const)("decodes every type in every order over %s", async (mode, framing) => {
    const port = await bed.peer("/usr/bin/python3", [PYMODBUS_SERVER, mode], image);
    await agrees({ host: "127.0.0.1", port, framing }, all);
  });

  test("decodes every type in every order over RTU on a serial line", async () => {
    const { near, far } = await bed.ptyPair("pymodbus");
    await bed.peer("/usr/bin/python3", [PYMODBUS_SERVER, "serial", far], image);
    await agrees(serial(near), all);
  });

  test("decodes every type in every order over RTU behind socat's TCP port", async () => {
    const { near, far } = await bed.ptyPair("pymodbus-socat");
    await bed.peer("/usr/bin/python3", [PYMODBUS_SERVER, "serial", far], image);
    await agrees(await behindSocat(near), all);
  });
});
