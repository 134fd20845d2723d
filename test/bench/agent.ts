import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { cpuSeconds } from "../support/process-figures.ts";
import {
  comparedFigure,
  figureOf,
  median,
  percentile,
  withCleanUp,
  type BenchOptions,
  type Family,
  type Figure,
} from "./figure.ts";
import { startIdleBeat } from "./idle-beat.ts";
import { withAgent } from "./packaged.ts";
import type { RepeatedRead } from "./peer-modbus-serial.ts";
import { startPlcs, type Read, type Tap } from "./plcs.ts";

/**
 * The installed agent with 8 and with 64 booths, polled each second: its CPU from reading to commit, beside that of modbus-serial alone,
 * which sends the same requests at the same time; and how late polls begin, as the PLC sees it.
 */

const SIZES = [8, 64] as const;
/** How long is measured; `guard` measures CPU alone, in a few seconds. */
type Length = "guard" | "quick" | "full";
const SETTLE_MS = { guard: 2_000, quick: 1_000, full: 8_000 };
const LATENESS_S = { guard: 2, quick: 3, full: 60 };
/** The agent and modbus-serial are measured in the same rounds; the medians count. */
const ROUNDS = { guard: 3, quick: 1, full: 5 };
const ROUND_S = { guard: 1, quick: 3, full: 20 };
/** Fewer polls of a booth, as in a short run, are not judged. */
const FEWEST_EACH = 10;
const MOST_OF_MODBUS_SERIAL = 2.5;
const MOST_LATE_MS = 5;
const PEER = fileURLToPath(new URL("peer-modbus-serial.ts", import.meta.url));

/** Returns the reads that came to a PLC with how often each was due. */
function repeatedReads({ reads }: Tap, polls: number): readonly RepeatedRead[] {
  const counts = new Map<string, { readonly read: Read; count: number }>();
  for (const read of reads) {
    const key = JSON.stringify(read);
    const seen = counts.get(key) ?? { read, count: 0 };
    seen.count += 1;
    counts.set(key, seen);
  }
  return [...counts.values()].map(({ read, count }) => ({ ...read, every: Math.max(1, Math.round(polls / count)) }));
}

/** Returns the share of a core that each process takes, in percent. */
async function cpuPercents(pids: readonly number[], seconds: number): Promise<readonly number[]> {
  const before = pids.map(cpuSeconds);
  const begun = performance.now();
  await sleep(seconds * 1_000);
  const elapsed_s = (performance.now() - begun) / 1_000;
  return pids.map((pid, nth) => (100 * (cpuSeconds(pid) - (before[nth] ?? 0))) / elapsed_s);
}

/** Returns the CPU of an agent with so many booths, then how late its polls begin. */
export function fleetFigures(size: number, length: Length): Promise<readonly [cpu: Figure, lateness: Figure]> {
  return withCleanUp(async (atEnd) => {
    const plcs = await startPlcs(size, atEnd);
    const idle = await startIdleBeat(atEnd);
    return withAgent({ booths: plcs.booths }, async (agent) => {
      await agent.polling();
      await sleep(SETTLE_MS[length]);
      plcs.clear();
      idle.clear();
      await sleep(LATENESS_S[length] * 1_000);
      const late = plcs.late().flat();
      const requests = plcs.taps.reduce((sum, { arrivals }) => sum + arrivals.length, 0);
      const lateness = figureOf({
        name: size === 8 ? "poll.lateness_p99_ms" : `poll.agent${size}_lateness_p99_ms`,
        value: percentile(late, 99),
        unit: "ms",
        anchor: idle.p99_ms(),
        target: `<= ${MOST_LATE_MS} ms`,
        note: `${late.length} polls; anchor: an idle process's beat`,
        reached: late.length < FEWEST_EACH * size ? null : percentile(late, 99) <= MOST_LATE_MS,
      });
      const [first] = plcs.taps;
      const reads = first === undefined ? [] : repeatedReads(first, LATENESS_S[length]);
      const args = [PEER, JSON.stringify(plcs.taps.map(({ port }) => port)), JSON.stringify(reads)];
      const peer = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] });
      atEnd(() => peer.kill());
      await once(peer, "spawn");
      await sleep(SETTLE_MS[length]);
      const rounds: (readonly number[])[] = [];
      while (rounds.length < ROUNDS[length])
        rounds.push(await cpuPercents([agent.pid, peer.pid ?? 0], ROUND_S[length]));
      const of = (nth: number): number => median(rounds.map((round) => round[nth] ?? NaN));
      const cpu = { name: `agent.fleet${size}_cpu_percent`, value: of(0), unit: "% of a core", anchor: of(1) };
      const note = `the same ${(requests / late.length).toFixed(1)} requests a poll`;
      return [comparedFigure({ ...cpu, atMost: MOST_OF_MODBUS_SERIAL, of: "modbus-serial", note }), lateness];
    });
  });
}

async function run({ quick }: BenchOptions): Promise<readonly Figure[]> {
  const length = quick ? "quick" : "full";
  // Most of a short run are the starts, so both fleets run at once. CPU is counted by process.
  if (quick) return (await Promise.all(SIZES.map((size) => fleetFigures(size, length)))).flat();
  const figures: Figure[] = [];
  for (const size of SIZES) figures.push(...(await fleetFigures(size, length)));
  return figures;
}

export const agentFamily: Family = { name: "agent", run };
