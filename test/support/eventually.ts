import { setTimeout as delay } from "node:timers/promises";

/** Longer than anything here takes on a busy machine: it is a deadline, not a measurement. */
const WITHIN_MS = 30_000;
const LOOK_EVERY_MS = 5;

/** Looks until the probe gives something (undefined: not yet); rejects at the deadline, saying what didn't happen. */
export async function eventually<T>(
  what: string,
  probe: () => T | undefined | Promise<T | undefined>,
  within_ms: number = WITHIN_MS,
): Promise<T> {
  const deadline = performance.now() + within_ms;
  for (;;) {
    const found = await probe();
    if (found !== undefined) return found;
    if (performance.now() > deadline) throw new Error(`not within ${within_ms.toString()} ms: ${what}`);
    await delay(LOOK_EVERY_MS);
  }
}

/** The same for a condition. */
export async function until(condition: () => boolean, what: string, within_ms?: number): Promise<void> {
  await eventually(what, () => (condition() ? true : undefined), within_ms);
}
