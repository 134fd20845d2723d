import { setTimeout as delay } from "node:timers/promises";

/** A deadline, not a measurement: longer than any step of a test takes on a busy machine. */
const WITHIN_MS = 120_000;
/** The pauses between two checks. They grow, because a check takes CPU from the program under test. */
const LOOK_AGAIN_MS = { first: 5, growth: 1.2, most: 50 } as const;

/**
 * Calls the probe until it returns a value (undefined: not yet). Rejects at the deadline and names what didn't happen.
 */
export async function eventually<T>(
  what: string,
  probe: () => T | undefined | Promise<T | undefined>,
  within_ms: number = WITHIN_MS,
): Promise<T> {
  const deadline = performance.now() + within_ms;
  for (let pause: number = LOOK_AGAIN_MS.first; ; pause = Math.min(LOOK_AGAIN_MS.most, pause * LOOK_AGAIN_MS.growth)) {
    const found = await probe();
    if (found !== undefined) return found;
    if (performance.now() > deadline) throw new Error(`not within ${within_ms} ms: ${what}`);
    await delay(pause);
  }
}

/** Waits until the condition is true. Rejects at the deadline and names what didn't happen. */
export async function until(condition: () => boolean, what: string, within_ms?: number): Promise<void> {
  await eventually(what, () => (condition() ? true : undefined), within_ms);
}
