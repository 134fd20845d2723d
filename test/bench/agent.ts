import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

import { findProfile } from "../../src/config/profile.ts";
import { clockFromNow, scaledClock } from "../../simulators/clock.ts";
import { findScenario } from "../../simulators/plc/scenarios/all.ts";
import { startPlc } from "../../simulators/plc/start.ts";
import { type BenchOptions, type Family, type Figure, percentile } from "./figure.ts";
import { cpuSeconds } from "./process-figures.ts";
import { withAgent } from "./running-agent.ts";

/**
 * The real agent with 8 and with 64 booths at 1 Hz: its CPU, everything from poll to commit included, and how late polls
 * begin, as the PLC sees it: the requests' arrival in this process, which also plays the PLCs.
 */

const INTERVAL_MS = 1000;
/** Requests of one poll come close together, so much of the interval is never between them. */
const PAUSE = 0.4;
const SETTLE_MS = { quick: 1_000, full: 8_000 };
/** Of fewer polls of a booth, as in a short run, nothing is said. */
const FEWEST_EACH = 10;
const MEASURED_S = { quick: 3, full: 60 };

/** One PLC's address: passes on to the device and notes when requests came. */
export interface Tap {
  readonly port: number;
  readonly arrivals: number[];
  close(): void;
}

export async function tap(target: number): Promise<Tap> {
  const arrivals: number[] = [];
  const sockets = new Set<Socket>();
  const server: Server = createServer((near) => {
    const far = connect({ host: "127.0.0.1", port: target, noDelay: true });
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => {
        near.destroy();
        far.destroy();
      });
    }
    near.setNoDelay(true);
    near.on("data", () => void arrivals.push(performance.now()));
    near.pipe(far);
    far.pipe(near);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = (): void => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  return { port: (server.address() as AddressInfo).port, arrivals, close };
}

/** How much later than the beat of its own earliest poll each poll began; the first may have begun before the first arrival. */
export function latenesses(arrivals: readonly number[], interval_ms = INTERVAL_MS): readonly number[] {
  const begins = arrivals.filter((at, i) => i > 0 && at - (arrivals[i - 1] ?? 0) > PAUSE * interval_ms);
  const first = begins[0] ?? 0;
  const offsets = begins.map((at) => at - first - Math.round((at - first) / interval_ms) * interval_ms);
  const earliest = Math.min(...offsets);
  return offsets.map((offset) => offset - earliest);
}

interface Measuring {
  readonly target: number;
  readonly length: keyof typeof MEASURED_S;
}

interface Measured {
  readonly cpu_percent: number;
  readonly late: readonly number[];
  readonly requests_per_cycle: number;
}

async function measure(size: number, { target, length }: Measuring): Promise<Measured> {
  const taps = await Promise.all(Array.from({ length: size }, () => tap(target)));
  const every = { poll_interval_ms: INTERVAL_MS };
  const booths = taps.map(({ port }) => ({
    profile: "click-booth",
    modbus: { host: "127.0.0.1", port },
    poll: { fast: every, slow: every },
  }));
  try {
    return await withAgent(booths, async (pid) => {
      await sleep(SETTLE_MS[length]);
      for (const { arrivals } of taps) arrivals.splice(0);
      const [before, start] = [cpuSeconds(pid), performance.now()];
      await sleep(MEASURED_S[length] * 1000);
      const elapsed_s = (performance.now() - start) / 1000;
      const cpu_percent = (100 * (cpuSeconds(pid) - before)) / elapsed_s;
      const requests = taps.reduce((sum, { arrivals }) => sum + arrivals.length, 0);
      const late = taps.flatMap(({ arrivals }) => latenesses(arrivals));
      return { cpu_percent, late, requests_per_cycle: requests / late.length };
    });
  } finally {
    for (const each of taps) each.close();
  }
}

function figuresOf(size: number, limit: number, measured: Measured): readonly Figure[] {
  const { cpu_percent, late, requests_per_cycle } = measured;
  const p99 = percentile(late, 99);
  const requests = `${requests_per_cycle.toFixed(1)} requests a poll`;
  return [
    {
      name: `agent.fleet${size}_cpu_percent`,
      value: cpu_percent,
      unit: "% of a core",
      anchor: null,
      ratio: null,
      target: `at most ${limit} %; ${requests}, from reading to commit`,
      reached: cpu_percent <= limit,
    },
    {
      name: size === 8 ? "poll.lateness_p99_ms" : `poll.agent${size}_lateness_p99_ms`,
      value: p99,
      unit: "ms",
      anchor: percentile(late, 50),
      ratio: null,
      target: `at most 5 ms of ${late.length} polls; anchor: the median`,
      reached: late.length < FEWEST_EACH * size ? null : p99 <= 5,
    },
  ];
}

async function run({ quick }: BenchOptions): Promise<readonly Figure[]> {
  const profile = findProfile("click-booth");
  const scenario = findScenario("standard-cycle");
  if (profile.protocol !== "modbus" || scenario === undefined) throw new Error("nothing to play");
  const clock = scaledClock(clockFromNow(1, Date.now()));
  const device = await startPlc({ profile, scenario, seed: 1, clock, port: 0 });
  const options: Measuring = { target: device.port, length: quick ? "quick" : "full" };
  try {
    const [few, many] = [() => measure(8, options), () => measure(64, options)];
    // Most of a short run are the starts: both at once. CPU is counted by process.
    const [fleet8, fleet64] = quick ? await Promise.all([few(), many()]) : [await few(), await many()];
    return [...figuresOf(8, 0.5, fleet8), ...figuresOf(64, 2, fleet64)];
  } finally {
    await device.stop();
  }
}

export const agentFamily: Family = { name: "agent", run };
