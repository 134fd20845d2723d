import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { askAgent } from "../../src/tools/agent-client.ts";
import { findProfile } from "../../src/config/profile.ts";
import type { PageState } from "../../src/api/port.ts";
import { clockFromNow, scaledClock } from "../../simulators/clock.ts";
import { findScenario } from "../../simulators/plc/scenarios/all.ts";
import { startPlc } from "../../simulators/plc/start.ts";
import { latenesses } from "./lateness.ts";
import { tap, type Tap } from "./agent.ts";
import { putElsewhere, standAbove } from "./elsewhere.ts";
import { percentile, type BenchOptions, type Family, type Figure } from "./figure.ts";
import { sessionAt } from "../api/box-http.ts";
import { mainThreadSeconds } from "./process-figures.ts";
import { withAgent } from "./running-agent.ts";
import { SIXTY_TAGS_T0 } from "./sixty-tags.ts";
import { fillStore } from "./store-filled.ts";
import { DAY_MS } from "../../src/domain/time.ts";

/**
 * How late polls begin while 20 pages look on and one client after the other takes everything as CSV: as the PLC sees it (in
 * this process, which does nothing else). Pages and clients are a process of their own.
 */

const BOOTHS = 8;
const EXPORTED_DAYS = 90;
/** Made in a quarter of the time; they last as long as the polls that are measured. */
const QUICK_DAYS = 5;
/** So that the 99th of a hundred isn't the worst of a few; in a short run it may be. */
const POLLS = 320;
const QUICK_POLLS = 64;
/** Polls of each booth that pass before anything is measured: code is compiled, first commits are made. */
const SETTLING_POLLS = 10;
const QUICK_SETTLING_POLLS = 4;
const WITHIN_MS = 120_000;
const LOAD = fileURLToPath(new URL("page-load.ts", import.meta.url));

export interface Load {
  readonly pages: number;
  readonly events: number;
  readonly exported_bytes: number;
  /** Reports that the pages' charts asked for. */
  readonly looks: number;
}

interface Bed {
  readonly pid: number;
  /** What the store holds. */
  readonly days: number;
  /** How many pass of each booth before anything is measured. */
  readonly settling: number;
  /** How many are measured of each booth. */
  readonly polls: number;
  readonly taps: readonly Tap[];
  readonly interval_ms: number;
}

interface Measured {
  readonly polls: number;
  readonly p99_ms: number;
  /** CPU of the agent's main thread, in percent of a core. */
  readonly main_percent: number;
}

/** Lateness of the next polls; resolves when there were so many of each booth. */
async function measured(bed: Bed, each: number): Promise<Measured> {
  for (const { arrivals } of bed.taps) arrivals.splice(0);
  const cpu_s = mainThreadSeconds(bed.pid);
  const begun = performance.now();
  const late = (): readonly (readonly number[])[] =>
    bed.taps.map(({ arrivals }) => latenesses(arrivals, bed.interval_ms));
  while (late().some(({ length }) => length < each)) {
    if (performance.now() - begun > WITHIN_MS) throw new Error(`no ${each} polls of each booth`);
    await sleep(bed.interval_ms);
  }
  const main_percent = (100_000 * (mainThreadSeconds(bed.pid) - cpu_s)) / (performance.now() - begun);
  const all = late().flat();
  return { polls: all.length, p99_ms: percentile(all, 99), main_percent };
}

export interface OpenedPage {
  readonly url: string;
  readonly session: string;
}

/** The agent's page on this machine, with a session for as long as any bench takes. */
export async function openedPage(socket: string): Promise<OpenedPage> {
  const call = { method: "POST", path: "/page", body: { for_ms: 12 * 3_600_000 } } as const;
  // The agent answers its own shape.
  const { url, pin } = (await askAgent(socket, call)) as PageState & { readonly pin: string };
  if (url === null) throw new Error("the agent has no page");
  return { url, session: await sessionAt(url, pin) };
}

/** Acts while everybody, elsewhere, looks and takes so many days as CSV, over and over. */
export async function underLoad<T>(
  { url, session }: OpenedPage,
  act: () => Promise<T>,
  days = EXPORTED_DAYS,
): Promise<readonly [T, Load]> {
  const window = [SIXTY_TAGS_T0, SIXTY_TAGS_T0 + days * DAY_MS].map((at) => new Date(at).toISOString());
  const child = spawn(process.execPath, [LOAD, url, session, ...window], { stdio: ["pipe", "pipe", "inherit"] });
  if (child.pid !== undefined) putElsewhere(child.pid);
  const ended = once(child, "close");
  const lines: string[] = [];
  const reader = createInterface({ input: child.stdout }).on("line", (line) => void lines.push(line));
  try {
    await Promise.race([once(reader, "line"), ended]);
    if (lines.length === 0) throw new Error("pages and exports get nothing");
    const stepDown = standAbove();
    const done = await act().finally(stepDown);
    child.stdin.end();
    await ended;
    return [done, JSON.parse(lines.at(-1) ?? "") as Load]; // what page-load.ts prints
  } finally {
    child.kill();
  }
}

function figuresOf(now: Measured, alone: Measured, what: string): readonly Figure[] {
  const p99 = now.p99_ms;
  const anchor = alone.p99_ms;
  return [
    {
      name: "page.lateness_p99_ms",
      value: p99,
      unit: "ms",
      anchor,
      ratio: anchor === 0 ? null : p99 / anchor,
      target: `at most 5 ms of ${now.polls} polls; ${what}; anchor: nobody asks`,
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

async function compared(bed: Bed, socket: string): Promise<readonly Figure[]> {
  await measured(bed, bed.settling);
  const page = await openedPage(socket);
  const alone = await measured(bed, bed.polls);
  const [now, seen] = await underLoad(page, () => measured(bed, bed.polls), bed.days);
  const taken = `${(seen.exported_bytes / 1e6).toFixed(0)} MB of them taken`;
  const what = `${bed.days} days as CSV (${taken}), ${seen.events} events and ${seen.looks} reports to ${seen.pages} pages`;
  return figuresOf(now, alone, what);
}

async function run({ quick }: BenchOptions): Promise<readonly Figure[]> {
  const profile = findProfile("click-booth");
  const scenario = findScenario("standard-cycle");
  if (profile.protocol !== "modbus" || scenario === undefined) throw new Error("nothing to play");
  const clock = scaledClock(clockFromNow(1, Date.now()));
  const device = await startPlc({ profile, scenario, seed: 1, clock, port: 0 });
  const taps = await Promise.all(Array.from({ length: BOOTHS }, () => tap(device.port)));
  const days = quick ? QUICK_DAYS : EXPORTED_DAYS;
  const settling = quick ? QUICK_SETTLING_POLLS : SETTLING_POLLS;
  const polls = (quick ? QUICK_POLLS : POLLS) / BOOTHS;
  // As many polls in a fifth of the time.
  const every = { poll_interval_ms: quick ? 200 : 1000 };
  const poll = { fast: every, slow: every };
  const booths = taps.map(({ port }) => ({ profile: "click-booth", modbus: { host: "127.0.0.1", port }, poll }));
  // What is old must be kept for the export to find it.
  const config = { store: { max_bytes: 1_000_000_000, max_age_days: 3_650 } };
  try {
    return await withAgent(
      booths,
      (pid, socket) => compared({ pid, days, settling, polls, taps, interval_ms: every.poll_interval_ms }, socket),
      { config, fill: (folder) => void fillStore(folder, days, { own: 1 }) },
    );
  } finally {
    for (const each of taps) each.close();
    await device.stop();
  }
}

export const pageFamily: Family = { name: "page", run };
