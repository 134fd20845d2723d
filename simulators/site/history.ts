import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { boothFor } from "../plc/start.ts";
import { askStatus } from "./agent-process.ts";
import type { SiteFolder, SiteMemory } from "./folder.ts";
import { gatewayConfig, HISTORY_POLL } from "./gateway-config.ts";
import type { SitePace } from "./pace.ts";
import type { Screen } from "./screen.ts";
import { isOver } from "../../src/domain/signal.ts";
import { pause } from "./waiting.ts";
import type { Scenario } from "../plc/model/scenario.ts";
import { virtualClock } from "../virtual/clock.ts";
import { lonelyGateway, onlyBooth } from "../virtual/gateway.ts";
import { DAY_MS } from "../../src/domain/time.ts";

interface HistoryOptions {
  /** The agent's folder, which must not exist. It is created complete at the end of the history. */
  readonly gatewayDir: string;
  /** The configuration of its agent. */
  readonly config: string;
  readonly scenario: Scenario;
  readonly seed: number;
  readonly serial: string;
  /** Epoch ms. */
  readonly from: number;
  readonly to: number;
  /** Called after each day and at the end. */
  readonly onDay: (done_ms: number) => void;
}
/** Longest run of the clock without a check of the signal. */
const STEP_MS = 3_600_000;
const UNFINISHED = ".unfinished";
/**
 * Files in memory, if the system supports them, so that a history's thousands of commits don't wait for a disk. They
 * take some 3 MB a month.
 */
const MEMORY_FILES = "/dev/shm";
/** Uptime of the kernel at the start of the agent. */
const UPTIME_MS = 60_000;

/** Returns the folders in which a history is made until it is complete. They are the same at each attempt. */
function placesOf(gatewayDir: string): { readonly made: string; readonly copied: string } {
  const copied = `${gatewayDir}${UNFINISHED}`;
  const name = `booth-sim-${createHash("sha256").update(gatewayDir).digest("hex").slice(0, 16)}`;
  return { made: existsSync(MEMORY_FILES) ? join(MEMORY_FILES, name) : copied, copied };
}

/** Deletes the files of an interrupted history. Returns whether there were any. */
export function dropUnfinished(gatewayDir: string): boolean {
  const left = Object.values(placesOf(gatewayDir)).filter((path) => existsSync(path));
  for (const path of left) rmSync(path, { recursive: true, force: true });
  return left.length > 0;
}

/**
 * Makes the gateway read its booth from `from` to `to` under virtual time without a service. Log, facts and state are
 * those of a real gateway that never reached its service. If the signal aborts, rejects with its reason and deletes all
 * files.
 */
async function fillGateway(options: HistoryOptions, signal: AbortSignal): Promise<void> {
  const { gatewayDir, scenario, seed, serial, from, to } = options;
  const { made: dataDir, copied } = placesOf(gatewayDir);
  dropUnfinished(gatewayDir);
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  try {
    const ready = onlyBooth(options.config, join(dataDir, "gateway.yaml"));
    const clock = virtualClock({ wall: from, mono: UPTIME_MS, boot: crypto.randomUUID() });
    const booth = boothFor({ profile: ready.profile, scenario, seed, start: from, identity: { plc_serial: serial } });
    const gateway = await lonelyGateway({ dataDir, clock, booth, ready });
    try {
      for (let next = from; clock.wall() < to;) {
        signal.throwIfAborted();
        await clock.run(Math.min(STEP_MS, to - clock.wall()));
        if (clock.wall() < Math.min(next + DAY_MS, to)) continue;
        next = clock.wall();
        options.onDay(next - from);
      }
    } finally {
      await gateway.stop();
    }
    if (dataDir !== copied) {
      mkdirSync(copied, { mode: 0o700 });
      cpSync(dataDir, copied, { recursive: true });
    }
    rmSync(gatewayDir, { recursive: true, force: true });
    renameSync(copied, gatewayDir);
  } finally {
    dropUnfinished(gatewayDir);
  }
}

export interface Filling {
  readonly folder: SiteFolder;
  readonly scenario: Scenario;
  readonly seed: number;
  readonly history_days: number;
  readonly screen: Screen;
}

/** Makes the gateway read all days at once. Returns false if it was stopped earlier. */
export async function fillBox(options: Filling, memory: SiteMemory, signal: AbortSignal): Promise<boolean> {
  const { folder, scenario, seed, history_days, screen } = options;
  const { serial, story_start, wall } = memory;
  const config = gatewayConfig({
    folder,
    serviceUrl: "http://127.0.0.1",
    modbusPort: 502,
    pagePort: 0,
    tz: scenario.tz,
    poll: HISTORY_POLL,
  });
  const all = history_days === 1 ? "a day" : `${history_days} days`;
  screen.line(
    story_start,
    "history",
    `the box reads ${all} at once, which takes one to two seconds a day, and longer on a busy machine`,
  );
  const began = performance.now();
  const onDay = (done: number): void => {
    const took_s = (performance.now() - began) / 1000;
    const left_s = took_s * ((wall - story_start) / done - 1);
    const days = Math.round(done / DAY_MS).toString();
    const left = Math.ceil(left_s).toString();
    screen.line(story_start + done, "history", `${days} of ${history_days} days read, about ${left} s left`);
  };
  try {
    await fillGateway(
      { gatewayDir: folder.gateway, config, scenario, seed, serial, from: story_start, to: wall, onDay },
      signal,
    );
    return true;
  } catch (error) {
    if (!signal.aborted) throw error;
    return false;
  }
}

/** Time in ms after which the rest of a history is delivered during the live story. */
const DELIVERED_WITHIN_MS = 120_000;
const LOOK_EVERY_MS = 500;
const TELL_EVERY_MS = 1_000;
/** Number of records that the live story adds meanwhile, which aren't part of the history. */
const NEARLY_ALL = 100;

export interface Delivery {
  readonly clock: SitePace;
  readonly screen: Screen;
  /** The agent's socket. */
  readonly socket: string;
  readonly days: number;
}

/** Waits until the service has the history, and shows the progress. */
export async function deliverHistory({ clock, screen, socket, days }: Delivery, signal: AbortSignal): Promise<void> {
  const began = performance.now();
  for (let told = began; !isOver(signal) && performance.now() - began < DELIVERED_WITHIN_MS;) {
    await pause(LOOK_EVERY_MS, signal);
    const log = (await askStatus(socket))?.booths[0]?.log;
    if (log === undefined) continue;
    const { acked_seq, newest_seq } = log;
    if (acked_seq > newest_seq - NEARLY_ALL) break;
    if (acked_seq === 0 || performance.now() - told < TELL_EVERY_MS) continue;
    told = performance.now();
    const left_s = Math.ceil(((told - began) / 1000) * (newest_seq / acked_seq - 1));
    const text = `${counted(acked_seq)} of ${counted(newest_seq)} records with the service, about ${left_s} s left`;
    screen.line(clock.wall(), "history", text);
  }
  if (isOver(signal)) return;
  const both = days === 1 ? "1 day is" : `${days} days are`;
  const text = `${both} at both ends; the live story goes on from here`;
  screen.line(clock.wall(), "history", text);
}

function counted(value: number): string {
  return value.toLocaleString("en-US");
}
