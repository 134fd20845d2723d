import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { askAgent } from "../../src/cli/agent-client.ts";
import { findProfile } from "../../src/config/profile.ts";
import type { PageState } from "../../src/core/types/page.ts";
import { clockFromNow, scaledClock } from "../../simulators/clock.ts";
import { findScenario } from "../../simulators/plc/scenarios/all.ts";
import { startPlc } from "../../simulators/plc/start.ts";
import { latenesses, SETTLE_MS, tap, type Tap } from "./agent.ts";
import { percentile, type BenchOptions, type Family, type Figure } from "./figure.ts";
import { mainThreadSeconds } from "../support/process-figures.ts";
import { withAgent } from "./running-agent.ts";
import { SIXTY_TAGS_T0 } from "./sixty-tags.ts";
import { fillStore } from "./store-filled.ts";

/**
 * How late polls begin while 20 pages look on and one client after the other takes everything as CSV: as the PLC sees it (in
 * this process, which does nothing else). Pages and clients are a process of their own.
 */

const BOOTHS = 8;
const DAY_MS = 86_400_000;
const LOAD = fileURLToPath(new URL("page-load.ts", import.meta.url));

export interface Load {
  readonly pages: number;
  readonly events: number;
  readonly exported_bytes: number;
}

interface Measured {
  readonly p99_ms: number;
  /** CPU of the agent's main thread, in percent of a core. */
  readonly main_percent: number;
}

async function during<T>(bed: Bed, act: () => Promise<T>): Promise<readonly [Measured, T]> {
  for (const { arrivals } of bed.taps) arrivals.splice(0);
  const [cpu_s, begun] = [mainThreadSeconds(bed.pid), performance.now()];
  const done = await act();
  const main_percent = (100_000 * (mainThreadSeconds(bed.pid) - cpu_s)) / (performance.now() - begun);
  const late = bed.taps.flatMap(({ arrivals }) => latenesses(arrivals));
  return [{ p99_ms: percentile(late, 99), main_percent }, done];
}

interface Bed {
  readonly pid: number;
  readonly taps: readonly Tap[];
}

function figuresOf(now: Measured, alone: Measured, what: string): readonly Figure[] {
  const [p99, anchor] = [now.p99_ms, alone.p99_ms];
  return [
    {
      name: "page.lateness_p99_ms",
      value: p99,
      unit: "ms",
      anchor,
      ratio: anchor === 0 ? null : p99 / anchor,
      target: `at most 5 ms; ${what}; anchor: nobody asks`,
      reached: p99 <= 5,
    },
    {
      // What is left of a core for the polls; unlike lateness it stands on a busy machine too.
      name: "page.main_thread_cpu_percent",
      value: now.main_percent,
      unit: "% of a core",
      anchor: alone.main_percent,
      ratio: now.main_percent / alone.main_percent,
      target: "none; anchor: nobody asks",
      reached: null,
    },
  ];
}

export async function load(url: string, { days, seconds }: { days: number; seconds: number }): Promise<Load> {
  const window = [SIXTY_TAGS_T0, SIXTY_TAGS_T0 + days * DAY_MS].map((at) => new Date(at).toISOString());
  const { stdout } = await promisify(execFile)(process.execPath, [LOAD, url, ...window, String(seconds)]);
  return JSON.parse(stdout) as Load; // what page-load.ts prints
}

async function run({ quick }: BenchOptions): Promise<readonly Figure[]> {
  const profile = findProfile("click-booth");
  const scenario = findScenario("standard-cycle");
  if (profile.protocol !== "modbus" || scenario === undefined) throw new Error("nothing to play");
  const clock = scaledClock(clockFromNow(1, Date.now()));
  const device = await startPlc({ profile, scenario, seed: 1, clock, port: 0 });
  const [seconds, days] = quick ? [3, 1] : [60, 90];
  const taps = await Promise.all(Array.from({ length: BOOTHS }, () => tap(device.port)));
  const poll = { fast: { poll_interval_ms: 1000 }, slow: { poll_interval_ms: 1000 } };
  const booths = taps.map(({ port }) => ({ profile: "click-booth", modbus: { host: "127.0.0.1", port }, poll }));
  // What is old must be kept for the export to find it.
  const config = { store: { max_bytes: 1_000_000_000, max_age_days: 3_650 } };
  try {
    return await withAgent(
      booths,
      async (pid, socket) => {
        await sleep(SETTLE_MS[quick ? "quick" : "full"]);
        // The agent answers its own shape.
        const { url } = (await askAgent(socket, { method: "GET", path: "/page" })) as PageState;
        if (url === null) throw new Error("the agent has no page");
        const [alone] = await during({ pid, taps }, () => sleep(seconds * 1000));
        const [now, seen] = await during({ pid, taps }, () => load(url, { days, seconds }));
        const taken = `${(seen.exported_bytes / 1e6).toFixed(0)} MB taken`;
        return figuresOf(now, alone, `${days} days as CSV (${taken}), ${seen.events} events to ${seen.pages} pages`);
      },
      { config, fill: (folder) => void fillStore(folder, days) },
    );
  } finally {
    for (const each of taps) each.close();
    await device.stop();
  }
}

export const pageFamily: Family = { name: "page", run };
