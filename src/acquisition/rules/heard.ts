import type { Way } from "../../domain/service-time.ts";
import type { EpochMs, Milliseconds } from "../../domain/units.ts";

/** What one answer said of the service's clock. */
export interface Heard {
  readonly way: Way;
  readonly mono: Milliseconds;
  /** The service's time minus mono. */
  readonly offset: Milliseconds;
}

/** The years 2000 to 2099: a time outside of these is none that an answer can be given at. */
const EARLIEST: EpochMs = 946_684_800_000;
const LATEST: EpochMs = 4_102_444_800_000;
/** Answers that differ by less say the same: one takes up to 5 s. */
export const AGREE_MS: Milliseconds = 5000;
/** So many answers, so far apart, outlast a short lie. */
const ANSWERS = 5;
const APART_MS: Milliseconds = 30_000;
/** A way over which nothing was heard for so long isn't waited for: while a long step is in question HTTP is asked twice a minute, and a session acks. */
const UP_MS: Milliseconds = 300_000;
/** Of each way; more than are asked for, so that one which came late takes none away. */
const MOST_KEPT = 8;

/** Whether an instant can be believed at all. */
export function isPlausible(time: EpochMs): boolean {
  return time >= EARLIEST && time <= LATEST;
}

/** The list with one more answer: of answers in quick succession the first and the last are kept. */
export function withHeard(list: readonly Heard[], one: Heard): readonly Heard[] {
  const own = list.filter(({ way }) => way === one.way);
  const [before, last] = own.slice(-2);
  const crowded = before !== undefined && last !== undefined && last.mono - before.mono < APART_MS;
  const kept = [...(crowded ? own.slice(0, -1) : own), one].slice(-MOST_KEPT);
  return [...list.filter(({ way }) => way !== one.way), ...kept].sort((a, b) => a.mono - b.mono);
}

/**
 * The offset that the last answers agree on: five of them, each half a minute from the next, from every way that is up, and none
 * in between that says otherwise. null: there aren't as many.
 */
export function agreedOffset(list: readonly Heard[], now: Milliseconds): Milliseconds | null {
  const newest = list.at(-1);
  if (newest === undefined) return null;
  const other = list.findLastIndex(({ offset }) => Math.abs(offset - newest.offset) > AGREE_MS);
  const run = list.slice(other + 1).reverse();
  let apart = 0;
  let next = Infinity;
  for (const { mono } of run) {
    if (next - mono < APART_MS) continue;
    apart += 1;
    next = mono;
  }
  const up = new Set(list.filter(({ mono }) => now - mono <= UP_MS).map(({ way }) => way));
  const isWhole = [...up].every((way) => run.some((one) => one.way === way));
  if (apart < ANSWERS || !isWhole) return null;
  // Date names a whole second, an ack the millisecond.
  return (run.find(({ way }) => way === "ack") ?? newest).offset;
}
