import { readFileSync, writeFileSync } from "node:fs";
import { aligned } from "../support/aligned.ts";
import { fleetFigures } from "./agent.ts";
import { drainFigures } from "./drain.ts";
import { figureOf, type Figure, withCleanUp } from "./figure.ts";
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
const SETTLE_MS = 1_500;

/** Each ratio by its name; higher is worse. */
type Ratios = Readonly<Record<string, number>>;

async function memoryFigure(): Promise<Figure> {
  return withCleanUp(async (atEnd) => {
    const device = await startModbusPlc(atEnd);
    const booth = { profile: "click-booth", modbus: { host: "127.0.0.1", port: device.port } };
    const [idle, agent] = await Promise.all([idleMemory(), agentMemory(booth, SETTLE_MS)]);
    return figureOf({ name: "memory", value: agent.resident_mb, unit: "MB", anchor: idle.resident_mb });
  });
}

async function measured(): Promise<Ratios> {
  const memory = await memoryFigure();
  const start = await startFigure(START_ROUNDS);
  const [poll] = await fleetFigures(FLEET, "guard");
  const [drain] = await drainFigures("guard");
  // Readings per second: fewer is worse.
  const drainCost = 1 / (drain.ratio ?? NaN);
  return { memory: memory.ratio ?? NaN, start: start.ratio ?? NaN, poll: poll.ratio ?? NaN, drain: drainCost };
}

/** Measures the ratios and prints them beside the committed ones. Returns the exit code: 1 if one is above its limit. */
export async function guardFigures(write: boolean): Promise<number> {
  const ratios = await measured();
  if (write) {
    const rounded = Object.entries(ratios).map(([name, ratio]) => [name, Number(ratio.toPrecision(3))]);
    writeFileSync(COMMITTED, `${JSON.stringify(Object.fromEntries(rounded), null, 2)}\n`);
  }
  // Only this file writes it.
  const committed = JSON.parse(readFileSync(COMMITTED, "utf8")) as Ratios;
  const lines = Object.entries(ratios).map(([name, ratio]) => {
    const known = committed[name] ?? NaN;
    // NaN is above every limit.
    const isAbove = !(ratio <= known * LIMIT);
    return { isAbove, cells: [name, ratio.toFixed(2), known.toFixed(2), isAbove ? "ABOVE THE LIMIT" : "ok"] };
  });
  process.stdout.write(`${aligned([["ratio", "measured", "committed", ""], ...lines.map(({ cells }) => cells)])}\n`);
  return lines.some(({ isAbove }) => isAbove) ? 1 : 0;
}
