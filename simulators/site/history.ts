import { mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { boothFor } from "../plc/start.ts";
import type { Scenario } from "../plc/model/scenario.ts";
import { virtualClock } from "../virtual/clock.ts";
import { lonelyGateway, onlyBooth } from "../virtual/gateway.ts";

export interface HistoryOptions {
  /** The agent's folder, which must not be there yet: it appears whole, once the history is. */
  readonly gatewayDir: string;
  /** The configuration that its agent would have. */
  readonly config: string;
  readonly scenario: Scenario;
  readonly seed: number;
  readonly serial: string;
  /** Epoch ms. */
  readonly from: number;
  readonly to: number;
  /** Told after each day, and at the end. */
  readonly onDay: (done_ms: number) => void;
}

const DAY_MS = 86_400_000;
/** How long the signal may wait for the clock's turn. */
const STEP_MS = 3_600_000;
const UNFINISHED = ".unfinished";
/** A gateway's kernel has run for a while when its agent starts. */
const UPTIME_MS = 60_000;

/** What a fill that was broken off has left. Answers whether there was any. */
export function dropUnfinished(gatewayDir: string): boolean {
  const path = `${gatewayDir}${UNFINISHED}`;
  try {
    renameSync(path, `${path}.gone`);
  } catch {
    return false;
  }
  rmSync(`${path}.gone`, { recursive: true, force: true });
  return true;
}

/**
 * Lets the gateway read its booth from `from` to `to` under virtual time, without a service: log, facts and state are as a real
 * one would have left them that never reached its service. Rejects with the signal's reason where it aborts; nothing is left then.
 */
export async function fillGateway(options: HistoryOptions, signal: AbortSignal): Promise<void> {
  const { gatewayDir, scenario, seed, serial, from, to } = options;
  const dataDir = `${gatewayDir}${UNFINISHED}`;
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
    rmSync(gatewayDir, { recursive: true, force: true });
    renameSync(dataDir, gatewayDir);
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}
