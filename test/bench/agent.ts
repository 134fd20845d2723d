import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

import { findProfile } from "../../src/config/profile.ts";
import { clockFromNow, scaledClock } from "../../simulators/clock.ts";
import { findScenario } from "../../simulators/plc/scenarios/all.ts";
import { startPlc } from "../../simulators/plc/start.ts";
import { type BenchOptions, type Family, type Figure, percentile } from "./figure.ts";
import { idleBeat } from "./idle-beat.ts";
import { INTERVAL_MS, latenesses } from "./lateness.ts";
import { cpuSeconds } from "./process-figures.ts";
import { withAgent } from "./running-agent.ts";

/**
 * The real agent with 8 and with 64 booths at 1 Hz: its CPU, everything from poll to commit included, and how late polls
 * begin, as the PLC sees it: the requests' arrival in this process, which also plays the PLCs.
 */

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

/** @param isPoll absent: every request is the agent's own */
export async function tap(target: number, isPoll: (request: Buffer) => boolean = () => true): Promise<Tap> {
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
    near.on("data", (request: Buffer) => {
      if (isPoll(request)) arrivals.push(performance.now());
    });
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

/** How often the booths' groups are read: both of them each second, or as the profile says. */
const RHYTHMS = {
  each_second: { fast: { poll_interval_ms: INTERVAL_MS }, slow: { poll_interval_ms: INTERVAL_MS } },
  as_profiled: { fast: { poll_interval_ms: INTERVAL_MS }, slow: { poll_interval_ms: 10 * INTERVAL_MS } },
};

interface Fleet {
  readonly size: number;
  /** Absent: both groups each second. */
  readonly rhythm?: keyof typeof RHYTHMS;
  /** Others may read the PLCs through the agent; which of the requests are its own. */
  readonly shared?: { readonly isPoll: (request: Buffer) => boolean };
}

interface Measured {
  readonly cpu_percent: number;
  readonly late: readonly number[];
  readonly requests_per_cycle: number;
  /** How late an idle process's beats were meanwhile. */
  readonly idle_p99_ms: number;
}

/** Runs `act` while an agent polls so many booths, each with a PLC of its own that is played here. */
export async function withFleet<T>(
  { size, rhythm = "each_second", shared }: Fleet,
  act: (pid: number, taps: readonly Tap[], socket: string) => Promise<T>,
): Promise<T> {
  const profile = findProfile("click-booth");
  const scenario = findScenario("standard-cycle");
  if (profile.protocol !== "modbus" || scenario === undefined) throw new Error("nothing to play");
  const clock = scaledClock(clockFromNow(1, Date.now()));
  const device = await startPlc({ profile, scenario, seed: 1, clock, port: 0 });
  const taps = await Promise.all(Array.from({ length: size }, () => tap(device.port, shared?.isPoll)));
  const booths = taps.map(({ port }) => ({
    profile: "click-booth",
    modbus: { host: "127.0.0.1", port, ...(shared === undefined ? {} : { share: { port: 0 } }) },
    poll: RHYTHMS[rhythm],
  }));
  try {
    return await withAgent(booths, (pid, socket) => act(pid, taps, socket));
  } finally {
    for (const each of taps) each.close();
    await device.stop();
  }
}

function measure(fleet: Fleet, length: keyof typeof MEASURED_S): Promise<Measured> {
  return withFleet(fleet, async (pid, taps) => {
    const idle = await idleBeat();
    await sleep(SETTLE_MS[length]);
    for (const { arrivals } of taps) arrivals.splice(0);
    idle.clear();
    const before = cpuSeconds(pid);
    const start = performance.now();
    await sleep(MEASURED_S[length] * 1000);
    const elapsed_s = (performance.now() - start) / 1000;
    const cpu_percent = (100 * (cpuSeconds(pid) - before)) / elapsed_s;
    const requests = taps.reduce((sum, { arrivals }) => sum + arrivals.length, 0);
    const late = taps.flatMap(({ arrivals }) => latenesses(arrivals));
    const idle_p99_ms = idle.p99_ms();
    await idle.stop();
    return { cpu_percent, late, idle_p99_ms, requests_per_cycle: requests / late.length };
  });
}

function figuresOf({ size, rhythm }: Fleet, limit: number, measured: Measured): readonly Figure[] {
  const { cpu_percent, late, idle_p99_ms, requests_per_cycle } = measured;
  const p99 = percentile(late, 99);
  const requests = `${requests_per_cycle.toFixed(1)} requests a poll`;
  const slow = rhythm === "as_profiled" ? "_slow10" : "";
  const read = rhythm === "as_profiled" ? "the slow group each 10 s" : "both groups each second";
  return [
    {
      name: `agent.fleet${size}${slow}_cpu_percent`,
      value: cpu_percent,
      unit: "% of a core",
      anchor: null,
      ratio: null,
      target: `at most ${limit} %; ${read}, ${requests}, from reading to commit`,
      reached: cpu_percent <= limit,
    },
    {
      name: size === 8 ? `poll.lateness${slow}_p99_ms` : `poll.agent${size}${slow}_lateness_p99_ms`,
      value: p99,
      unit: "ms",
      anchor: percentile(late, 50),
      ratio: null,
      target: `at most 5 ms of ${late.length} polls; an idle process's beat: ${idle_p99_ms.toFixed(1)} ms; anchor: the median`,
      reached: late.length < FEWEST_EACH * size ? null : p99 <= 5,
    },
  ];
}

/** What each may take of a core, %. */
const FLEETS = [
  { size: 8, rhythm: "each_second", limit: 0.7 },
  { size: 8, rhythm: "as_profiled", limit: 0.7 },
  { size: 64, rhythm: "each_second", limit: 4 },
  { size: 64, rhythm: "as_profiled", limit: 4 },
] as const;

async function run({ quick }: BenchOptions): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  const one = async (fleet: (typeof FLEETS)[number]): Promise<void> => {
    figures.push(...figuresOf(fleet, fleet.limit, await measure(fleet, quick ? "quick" : "full")));
  };
  // Most of a short run are the starts: all at once. CPU is counted by process.
  if (quick) await Promise.all(FLEETS.map(one));
  else for (const fleet of FLEETS) await one(fleet);
  return figures;
}

export const agentFamily: Family = { name: "agent", run };
