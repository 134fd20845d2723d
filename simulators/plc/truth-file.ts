import { appendFileSync } from "node:fs";
import type { SimClock } from "../clock.ts";
import type { Booth } from "./model/booth.ts";

/** Maximum interval between two writes in simulated ms, and so the delay of injected events. */
const LOOK_MS = 60_000;

/** Returns lines for everything that happened in (after, upTo]. */
function linesOf(booth: Booth, after: number, upTo: number): string {
  const events = booth.entries(after, upTo).flatMap((entry) => entry.events);
  return events.map((event) => `${JSON.stringify({ ...event, time: new Date(event.at).toISOString() })}\n`).join("");
}

/**
 * Appends the booth's truth to a file as JSON lines during simulated time, in order from the story's origin on: stage
 * changes, cycle ends, filter changes, overuse, revisions, power and cable. Resolves when `signal` is aborted. Rejects
 * if the file can't be written.
 */
export async function writeTruth(
  booth: Booth,
  path: string,
  by: { clock: SimClock; signal: AbortSignal },
): Promise<void> {
  const { clock, signal } = by;
  let written = -Infinity;
  const write = (upTo: number): void => {
    const lines = linesOf(booth, written, upTo);
    if (lines !== "") appendFileSync(path, lines);
    written = Math.max(written, upTo);
  };
  while (!signal.aborted) {
    // Omits the present millisecond, in which a button may still be pressed.
    write(clock.wall() - 1);
    const pause = Math.min(booth.nextChange(written) + 1 - clock.wall(), LOOK_MS);
    await clock.sleep(pause, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }
  write(clock.wall());
}
