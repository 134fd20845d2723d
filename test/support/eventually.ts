import { setTimeout as delay } from "node:timers/promises";

/** Longer than anything here takes on a busy machine: it is a deadline, not a measurement. */
const WITHIN_MS = 120_000;
/** From one look to the next: soon at first, then seldom, as looking takes CPU from what is looked at. */
const LOOK_AGAIN_MS = { first: 5, growth: 1.2, most: 50 } as const;

/** Looks until the probe gives something (undefined: not yet); rejects at the deadline, saying what didn't happen. */
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

/** The same for a condition. */
export async function until(condition: () => boolean, what: string, within_ms?: number): Promise<void> {
  await eventually(what, () => (condition() ? true : undefined), within_ms);
}
