import { setTimeout as sleep } from "node:timers/promises";
import modbus from "modbus-serial";

import { modbusDriver } from "../../src/acquisition/modbus/driver.ts";
import { modbusLine } from "../../src/acquisition/modbus/wire.ts";
import { point, profileOf } from "../support/profiles.ts";
import { type BenchOptions, type Family, type Figure, interleaved, percentile } from "./figure.ts";
import { startDevice } from "./modbus-device.ts";

/** Share of a core that polling a fleet costs: three reads of 40 registers per booth and second, all on one tick. */

const READS = 3;
const TAGS_PER_READ = 20;
const SPACING = 1000;
/** Of a fleet together: its booths run the same code. */
const WARM_UP_POLLS = { quick: 1_000, full: 2_000 };
/** From one poll of a booth to the next; the CPU is told as of one a second either way. */
const TICK_MS = { quick: 100, full: 1_000 };
const TICKS = { quick: 2, full: 5 };
const ROUNDS = { quick: 2, full: 7 };

type Poll = () => Promise<unknown>;

/** 60 tags in three blocks that are too far apart to be one. */
async function ourBooths(port: number, count: number): Promise<readonly Poll[]> {
  const points = Array.from({ length: READS * TAGS_PER_READ }, (_, i) => {
    const read = Math.floor(i / TAGS_PER_READ);
    return point({ address: read * SPACING + 2 * (i % TAGS_PER_READ), type: "uint32" });
  });
  const profile = profileOf(points);
  const { signal } = new AbortController();
  return Promise.all(
    Array.from({ length: count }, async () => {
      const driver = modbusDriver({ line: modbusLine({ host: "127.0.0.1", port }), profile });
      await driver.open(signal);
      return () => driver.read(["g"]);
    }),
  );
}

/** The same reads by modbus-serial as it comes, without decoding. */
async function plainBooths(port: number, count: number): Promise<readonly Poll[]> {
  return Promise.all(
    Array.from({ length: count }, async () => {
      const client = new modbus.default();
      await client.connectTCP("127.0.0.1", { port });
      client.setTimeout(5000);
      return async () => {
        for (let read = 0; read < READS; read++) await client.readHoldingRegisters(read * SPACING, 2 * TAGS_PER_READ);
      };
    }),
  );
}

/**
 * Polls all booths so many times: CPU in percent of one core, as of one poll a second.
 * @param late gets by how many ms each poll was begun after it was due
 */
async function cpuPercent(booths: readonly Poll[], length: keyof typeof TICKS, late: number[] = []): Promise<number> {
  const ticks = TICKS[length];
  const tick_ms = TICK_MS[length];
  const before = process.cpuUsage();
  const start = performance.now();
  for (let tick = 1; tick <= ticks; tick++) {
    const due = start + (tick - 1) * tick_ms;
    await Promise.all(
      booths.map((poll) => {
        late.push(performance.now() - due);
        return poll();
      }),
    );
    await sleep(Math.max(0, start + tick * tick_ms - performance.now()));
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 10_000 / ticks;
}

async function fleet(
  size: number,
  limit: number,
  options: { port: number; length: keyof typeof TICKS },
): Promise<readonly Figure[]> {
  const ours = await ourBooths(options.port, size);
  const plain = await plainBooths(options.port, size);
  // A fleet is polled for months: compiling the code once is not part of the figure. The same for both.
  for (const poll of [...ours, ...plain]) for (let i = 0; i < WARM_UP_POLLS[options.length] / size; i++) await poll();
  const late: number[] = [];
  const { ours: value = NaN, plain: anchor = NaN } = await interleaved(ROUNDS[options.length], {
    ours: () => cpuPercent(ours, options.length, late),
    plain: () => cpuPercent(plain, options.length),
  });
  const p99 = percentile(late, 99);
  const cpu = {
    name: `modbus.fleet${size}_cpu_percent`,
    value,
    unit: "% of a core",
    anchor,
    ratio: value / anchor,
    target: `at most ${limit} %, decoding included; anchor: modbus-serial, reads alone`,
    reached: value <= limit,
  };
  const lateness = {
    name: `poll.fleet${size}_lateness_p99_ms`,
    value: p99,
    unit: "ms",
    anchor: percentile(late, 50),
    ratio: null,
    target: "at most 5 ms; anchor: the median",
    reached: p99 <= 5,
  };
  return [cpu, lateness];
}

async function run({ quick }: BenchOptions): Promise<readonly Figure[]> {
  const device = await startDevice();
  const options = { port: device.port, length: quick ? "quick" : "full" } as const;
  const eight = await fleet(8, 0.5, options);
  const many = await fleet(64, 2, options);
  device.stop(); // ends the connections too
  return [...eight, ...many];
}

export const fleetFamily: Family = { name: "fleet", run };
