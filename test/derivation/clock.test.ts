import { expect, test } from "vitest";
import { openEndOf } from "../../src/derivation/fold.ts";
import { commit, foldRecords, T0, valuesOf, type Folded } from "../support/booth.ts";
import { clockedEntries, type ClockedLife, areTrue, codeAt, modelStages } from "../support/clocked.ts";
import { recordFault } from "../support/faults.ts";
import { PLAIN } from "../support/parameters.ts";
import { casesOf, seedOf } from "../support/seed.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { DAY_MS } from "../../src/domain/time.ts";

const POLL_MS = 10_000;
const LENGTH_MS = 40 * 60_000;
const POINTS = casesOf(300);
const SEED = seedOf("test/core/derive/clock");
/** The stages of the model: idle, prep, spray, flash, spray. */
const MODEL = modelStages(LENGTH_MS);

const RIGHT: ClockedLife = {
  parameters: PLAIN,
  boot: "boot-1",
  length_ms: LENGTH_MS,
  poll_ms: POLL_MS,
  mode: (ms) => codeAt(MODEL, ms),
  wall: (ms) => T0 + ms,
  kernel: () => true,
  service: () => null,
};

function live(life: Partial<ClockedLife>): Folded {
  return foldRecords(commit(clockedEntries({ ...RIGHT, ...life }), PLAIN, [7]));
}

interface Span {
  readonly mode: string;
  readonly start: number;
  readonly end: number;
  readonly uncertain_ms: number;
}

function spansOf({ facts, state }: Folded): Span[] {
  const all = [...valuesOf(facts, "m"), ...openEndOf(state, T0 + LENGTH_MS).stages];
  return all.map(({ mode, start, end, uncertain_ms }) => ({ mode, start: start - T0, end: end - T0, uncertain_ms }));
}

const TRUTH = spansOf(live({}));

/** Returns whether every border is within a poll of the model's. */
function isTrue(spans: readonly Span[]): boolean {
  const stages = spans.map(({ mode, start, end }) => ({ mode, start: T0 + start, end: T0 + end }));
  return areTrue(stages, MODEL, { from: T0, to: T0 + LENGTH_MS, poll_ms: POLL_MS });
}

test.each([DAY_MS, -DAY_MS, 1000, -1000])(
  "a wall clock that steps by %i ms at any point, unconfirmed by a time source, changes no stage",
  (by) => {
    const random = seededRandom(SEED + Math.abs(by) + (by < 0 ? 1 : 0));
    let wrong = 0;
    for (let point = 0; point < POINTS; point += 1) {
      // At 0 it would be wrong from the start, not stepped.
      const stepAt = 1 + Math.floor(random.next() * (LENGTH_MS - 1));
      const back = random.next() < 0.3 ? stepAt + Math.floor(random.next() * (LENGTH_MS - stepAt)) : Infinity;
      const folded = live({ wall: (ms) => T0 + ms + (ms >= stepAt && ms < back ? by : 0) });
      const spans = spansOf(folded);
      if (!isTrue(spans) || JSON.stringify(spans) !== JSON.stringify(TRUTH)) wrong += 1;
    }
    recordFault({
      row: 37,
      fault: `wall clock stepped by ${by / 1000} s, no witness`,
      injected: POINTS,
      lost: 0,
      doubled: 0,
      wrong,
      passed: wrong === 0,
    });
    expect(wrong).toBe(0);
  },
);

test("if a clock is a day slow until the service corrects it, the open stage grows by a day of uncertain time", () => {
  const random = seededRandom(SEED + 3);
  let wrong = 0;
  for (let point = 0; point < POINTS; point += 1) {
    const heardAt = Math.floor(random.next() * (LENGTH_MS - POLL_MS));
    const folded = live({
      wall: (ms) => T0 + ms - DAY_MS,
      kernel: () => false,
      service: (ms) => (ms >= heardAt ? T0 : null),
    });
    const spans = spansOf(folded);
    const sure = spans.map(({ mode, start, end, uncertain_ms }) => ({ mode, length: end - start - uncertain_ms }));
    const uncertain = spans.reduce((sum, { uncertain_ms }) => sum + uncertain_ms, 0);
    const expected = TRUTH.map(({ mode, start, end }) => ({ mode, length: end - start }));
    const moved = heardAt > 0 ? DAY_MS : 0;
    if (JSON.stringify(sure) !== JSON.stringify(expected) || uncertain !== moved || spans.at(-1)?.end !== LENGTH_MS) {
      wrong += 1;
    }
  }
  recordFault({
    row: 37,
    fault: "a day slow, put right by the service",
    injected: POINTS,
    lost: 0,
    doubled: 0,
    wrong,
    passed: wrong === 0,
  });
  expect(wrong).toBe(0);
});

test("after a fast clock is corrected, corrected time stands still until true time catches up, so that no time counts twice", () => {
  const heardAt = 905_000;
  const folded = live({ wall: (ms) => T0 + ms + 600_000, service: (ms) => (ms >= heardAt ? T0 : null) });
  const spans = spansOf(folded);
  expect(spans[0]?.start).toBe(600_000);
  spans.forEach(({ end }, index) => {
    expect(spans[index + 1]?.start ?? end).toBe(end);
  });
  // The clock showed 10 of the true 40 min too early; corrected time stands still for as long.
  expect(spans.at(-1)?.end).toBe(LENGTH_MS);
  expect(spans.reduce((sum, { start, end }) => sum + end - start, 0)).toBe(LENGTH_MS - 600_000);
});

test("an uptime over 49.7 days (2^32 ms) leaves all durations exact", () => {
  // A counter of 32 bits would wrap in the middle of it.
  const mono0 = 2 ** 32 - LENGTH_MS / 2;
  const spans = spansOf(live({ mono0, wall: (ms) => T0 + ms }));
  const wrong = JSON.stringify(spans) === JSON.stringify(TRUTH) ? 0 : 1;
  recordFault({
    row: 38,
    fault: "uptime over 49.7 days",
    injected: 1,
    lost: 0,
    doubled: 0,
    wrong,
    passed: wrong === 0,
  });
  expect(wrong).toBe(0);
});

test("the clock tests detect a planted bug that accepts a clock step without confirmation by a time source", () => {
  const believed = commit(
    clockedEntries({ ...RIGHT, wall: (ms) => T0 + ms + (ms > 700_000 ? DAY_MS : 0) }),
    PLAIN,
    [7],
  ).map((record) =>
    record.kind === "t" ? { ...record, value: { ...record.value, witness: "kernel" as const } } : record,
  );
  expect(isTrue(spansOf(foldRecords(believed)))).toBe(false);
  expect(isTrue(TRUTH)).toBe(true);
});
