import { describe, expect, test } from "vitest";

import type { Faults } from "../../../simulators/network/faults.ts";
import { tcpProxy } from "../../../simulators/network/tcp-proxy.ts";
import { goodManners } from "../../../simulators/plc/manners.ts";
import type { Device } from "../../../simulators/plc/modbus-frames.ts";
import { startModbusServer } from "../../../simulators/plc/modbus-server.ts";
import { startRtuTcp } from "../../../simulators/plc/rtu-server.ts";
import { setTimeout as delay } from "node:timers/promises";
import type { ModbusPoint } from "../../../src/domain/profile.ts";
import { pattern } from "./fake-modbus.ts";
import { recordFault } from "../../support/faults.ts";
import { FOUR_BLOCKS, isHole, readFor, SPARSE } from "./lossy-bed.ts";

/** Number of intervals in which the link's state may change once. */
const INTERVALS = 60;

function deviceOf(points: readonly ModbusPoint[]): Device {
  const holes = Array.from({ length: 200 }, (_, address) => address).filter((address) => isHole(points, address));
  const bad_ranges =
    points !== FOUR_BLOCKS ? holes.map((at) => ({ table: "holding" as const, first: at, last: at, code: 2 })) : [];
  return {
    image: { read: ({ address, count }) => Array.from({ length: count }, (_, i) => pattern(3, address + i)) },
    max_registers: 125,
    max_bits: 2000,
    manners: { ...goodManners(), bad_ranges },
    answered_at: -Infinity,
  };
}

const time = {
  now: () => performance.now(),
  sleep: (ms: number, signal?: AbortSignal) => delay(ms, undefined, signal ? { signal } : {}),
};

const MAPS = [
  ["in four requests", FOUR_BLOCKS],
  ["in a sparse map", SPARSE],
] as const;

/** Faults of the line, and the minimum share of values that arrive in time despite them. */
const FAULTS: readonly (readonly [name: string, faults: Partial<Faults>, least: number])[] = [
  ["1 % of replies lost", { drop: 0.01 }, 0.99],
  ["5 % of replies lost", { drop: 0.05 }, 0.97],
  ["10 % of replies lost", { drop: 0.1 }, 0.9],
  ["20 % of replies lost", { drop: 0.2 }, 0.75],
  ["3 % of replies hurt", { corrupt: 0.03 }, 0.97],
];

const CASES = MAPS.flatMap(([map, points]) =>
  FAULTS.map(([name, faults, least]) => ({ map, points, name, faults, least })),
);

async function play(framing: "tcp" | "rtu", { map, points, name, faults, least }: (typeof CASES)[number]) {
  const device = deviceOf(points);
  const server =
    framing === "rtu"
      ? await startRtuTcp({ ...time, deviceOf: () => device }, 0)
      : await startModbusServer({ ...time, device, link: () => "up" }, 0);
  const proxy = await tcpProxy({ target: { port: server.port }, seed: 7 });
  Object.assign(proxy.faults, { direction: "answers", ...faults });
  const account = await readFor(INTERVALS, { host: "127.0.0.1", port: proxy.port, framing }, points);
  await proxy.close();
  await server.close();
  const { due, good, wrong, changes } = account;
  const lost = good < least * due ? due - good : 0;
  const passed = lost + wrong === 0 && changes <= 1;
  const fault = `${name}, 60 tags ${map} (${framing})`;
  const injected = proxy.counts.drop + proxy.counts.corrupt;
  recordFault({ row: 47, fault, injected, lost, doubled: 0, wrong, passed });
  process.stdout.write(`row 47, ${fault}: ${injected} faults, ${good} of ${due} values, ${JSON.stringify(account)}\n`);
  return { fault, passed, account };
}

/** TCP has its own checksum, so wrong bytes are a fault of serial lines only. */
const isOf = (framing: "tcp" | "rtu") => (one: (typeof CASES)[number]) =>
  framing === "rtu" || one.faults.corrupt === undefined;

describe("fault matrix row 47: a PLC that loses replies", () => {
  test.concurrent.for(["tcp", "rtu"] as const)(
    "over %s delivers most values in time and no wrong value, and changes the link's state at most once",
    async (framing) => {
      const played = await Promise.all(CASES.filter(isOf(framing)).map((one) => play(framing, one)));
      expect(played.filter(({ passed }) => !passed)).toEqual([]);
    },
  );
});
