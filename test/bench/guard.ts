import { readFileSync, writeFileSync } from "node:fs";
import { aligned } from "../support/aligned.ts";
import { fleetFigures } from "./agent.ts";
import { drainFigures } from "./drain.ts";
import { withCleanUp } from "./figure.ts";
import { agentMemory, idleMemory } from "./memory.ts";
import { startModbusPlc } from "./plcs.ts";
import { startFigure } from "./start.ts";

/**
 * Four ratios of the agent to an anchor of the same run, measured in seconds. CI fails if one grows, so that a slower start or a
 * larger process is noticed with the change that causes it.
 */

const COMMITTED = new URL("guarded.json", import.meta.url);
/** A ratio may be this many times the committed one: more than the noise of a short run on a busy machine. */
export const LIMIT = 1.3;
const START_ROUNDS = 3;
const FLEET = 64;
/** Longer than the agent waits after its start until it collects the garbage. */
const SETTLE_MS = 4_000;

async function memoryRatio(): Promise<number> {
  return withCleanUp(async (atEnd) => {
    const device = await startModbusPlc(atEnd);
    const booth = { profile: "click-booth", modbus: { host: "127.0.0.1", port: device.port } };
    const [idle, agent] = await Promise.all([idleMemory(), agentMemory(booth, SETTLE_MS)]);
    return agent.resident_mb / idle.resident_mb;
  });
}

async function startRatio(): Promise<number> {
  return (await startFigure(START_ROUNDS)).ratio ?? NaN;
}

async function pollRatio(): Promise<number> {
  const [poll] = await fleetFigures(FLEET, "guard");
  return poll.ratio ?? NaN;
}

/** Returns the CPU time per reading: the figure itself is readings per second, where fewer is worse. */
async function drainRatio(): Promise<number> {
  const [drain] = await drainFigures("guard");
  return 1 / (drain.ratio ?? NaN);
}

/** The ratios by their names; higher is worse. */
const RATIOS = { memory: memoryRatio, start: startRatio, poll: pollRatio, drain: drainRatio };

/** Returns the smaller of two measurements if the first is above `limit`, because a busy machine only ever adds to a ratio. */
async function measured(ratioOf: () => Promise<number>, limit: number): Promise<number> {
  const first = await ratioOf();
  return first <= limit ? first : Math.min(first, await ratioOf());
}

/** Measures the ratios and prints them with the committed ones. Returns the exit code: 1 if a ratio is above its limit. */
export async function guardFigures(write: boolean): Promise<number> {
  // Only this file writes it.
  const committed = JSON.parse(readFileSync(COMMITTED, "utf8")) as Readonly<Record<string, number>>;
  const rows: string[][] = [];
  const ratios: Record<string, number> = {};
  for (const [name, ratioOf] of Object.entries(RATIOS)) {
    const limit = (committed[name] ?? NaN) * LIMIT;
    const ratio = await measured(ratioOf, limit);
    ratios[name] = Number(ratio.toPrecision(3));
    // NaN is above every limit.
    rows.push([name, ratio.toFixed(2), limit.toFixed(2), ratio <= limit ? "ok" : "ABOVE THE LIMIT"]);
  }
  if (write) writeFileSync(COMMITTED, `${JSON.stringify(ratios, null, 2)}\n`);
  process.stdout.write(`${aligned([["ratio", "measured", "limit", ""], ...rows])}\n`);
  return rows.every((row) => row.at(-1) === "ok") ? 0 : 1;
}
