import type { TakenPoll } from "../../src/domain/taken.ts";

/**
 * A booth of 60 tags polled at 1 Hz: 24 measured values that move by a tenth or two in a fifth of the polls, four
 * counters, a mode, and states that rarely change. Each change has a known probability, so its information content in
 * bits is known too.
 */
const MEASURED = 24;
const COUNTERS = 4;
const STATES = 31;
const CHANCE = { measured: 0.2, counter: 0.05, state: 1 / 3_600, mode: 1 / 400 };
/** Probabilities of the steps: one up or down, two up or down. */
const STEPS = [
  { by: 1, odds: 0.45 },
  { by: -1, odds: 0.45 },
  { by: 2, odds: 0.05 },
  { by: -2, odds: 0.05 },
];
const MODES = 6;
/** Polls are on the second, or up to 2 ms late. */
const LATE_MS = 3;
/** Wall clock at mono 0. */
export const SIXTY_TAGS_T0 = Date.UTC(2026, 0, 1);

/** Information content of a poll in bits, on average, by these probabilities. */
export const BITS_PER_POLL = ((): number => {
  const coin = (p: number): number => -p * Math.log2(p) - (1 - p) * Math.log2(1 - p);
  const step = STEPS.reduce((sum, { odds }) => sum - odds * Math.log2(odds), 0);
  const measured = MEASURED * (coin(CHANCE.measured) + CHANCE.measured * step);
  const mode = coin(CHANCE.mode) + CHANCE.mode * Math.log2(MODES - 1);
  return measured + COUNTERS * coin(CHANCE.counter) + STATES * coin(CHANCE.state) + mode + Math.log2(LATE_MS);
})();

export const CHANGES_PER_POLL =
  MEASURED * CHANCE.measured + COUNTERS * CHANCE.counter + STATES * CHANCE.state + CHANCE.mode;

/** Makes one poll a second, numbered from 1. The first poll logs all tags. */
export function sixtyTags(stream: string, random: () => number): () => TakenPoll {
  const measured = Array.from({ length: MEASURED }, (_, index) => 200 + 10 * index);
  const counters = Array.from({ length: COUNTERS }, () => 1_000);
  const states = Array.from({ length: STATES }, () => false);
  let mode = 0;
  let take = 0;
  return () => {
    const changes: [string, number | boolean, "good"][] = [];
    const isFirst = take === 0;
    const each = <T>(values: T[], chance: number, next: (value: T) => T): number[] =>
      values.flatMap((value, index) => {
        const changed = random() < chance;
        if (changed) values[index] = next(value);
        return changed || isFirst ? [index] : [];
      });
    const changesMode = random() < CHANCE.mode;
    if (changesMode) mode = (mode + 1 + Math.floor(random() * (MODES - 1))) % MODES;
    if (changesMode || isFirst) changes.push(["mode", mode, "good"]);
    for (const index of each(measured, CHANCE.measured, (value) => value + stepOf(random()))) {
      changes.push([`measured_value_${index}`, (measured[index] ?? 0) / 10, "good"]);
    }
    for (const index of each(counters, CHANCE.counter, (value) => value + 1)) {
      changes.push([`counter_${index}`, counters[index] ?? 0, "good"]);
    }
    for (const index of each(states, CHANCE.state, (value) => !value)) {
      changes.push([`state_${index}`, states[index] ?? false, "good"]);
    }
    const mono = take * 1_000 + Math.floor(random() * LATE_MS);
    take += 1;
    return {
      kind: "poll",
      take,
      stream,
      boot: "b1",
      mono,
      at: SIXTY_TAGS_T0 + mono,
      group: "fast",
      answered: true,
      changes,
    };
  };
}

function stepOf(draw: number): number {
  let left = draw;
  for (const { by, odds } of STEPS) {
    left -= odds;
    if (left < 0) return by;
  }
  return STEPS[0]?.by ?? 1;
}
