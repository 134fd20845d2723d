import fc from "fast-check";
import { expect, it } from "vitest";
import type { DeriveState } from "../../../src/derivation/state.ts";
import { openEndOf } from "../../../src/derivation/fold.ts";
import type { LogRecord, Stored } from "../../../src/domain/record.ts";
import { valuesOf } from "../../support/booth.ts";
import { logOf, rightFold, withFacts, withRecords, withSteps, type FoldAll } from "../folds.ts";
import { law, testLaws } from "../law.ts";
import { seedOf } from "../../support/seed.ts";
import { entriesOf, steppedWalks, WALK_T0, type Happening } from "../streams.ts";
import { HOUR_MS } from "../../../src/domain/time.ts";

/** Stages tile the time from the first reading to the last one without a hole or an overlap. */
function tiles(fold: FoldAll, life: readonly Happening[]): boolean {
  const { state, facts } = fold(logOf(life));
  const { now } = state.clock;
  const stages = [...valuesOf(facts, "m"), ...openEndOf(state, now).stages];
  const touch = stages.every(({ start, end }, index) => {
    const next = stages[index + 1];
    return end >= start && (next === undefined || next.start === end);
  });
  return touch && stages.at(-1)?.end === now;
}

/** An hour is written once, and its time by mode equals that of the stages in it. */
function hoursAreStages(fold: FoldAll, life: readonly Happening[]): boolean {
  const { facts } = fold(logOf(life));
  const stages = valuesOf(facts, "m");
  const hours = valuesOf(facts, "d");
  const told = stages.at(-1)?.end ?? 0;
  const whole = hours.filter(({ hour }) => hour + HOUR_MS <= told);
  const equal = whole.every(({ hour, ms_by_mode }) => {
    const sums: Record<string, number> = {};
    for (const { mode, start, end } of stages) {
      const ms = Math.min(end, hour + HOUR_MS) - Math.max(start, hour);
      if (ms > 0) sums[mode] = (sums[mode] ?? 0) + ms;
    }
    const modes = new Set([...Object.keys(sums), ...Object.keys(ms_by_mode)]);
    return [...modes].every((mode) => sums[mode] === ms_by_mode[mode as "spray"]);
  });
  return equal && new Set(hours.map(({ hour }) => hour)).size === hours.length;
}

/** Corrected time never runs back, and no more time is counted than passed, however the clock is put back. */
function countsOnce(fold: FoldAll, life: readonly Happening[]): boolean {
  const back = life
    .map((one) => (one.kind === "step" ? { ...one, ms: -Math.abs(one.ms) } : one))
    .filter(({ kind }) => kind !== "boot");
  const monos = entriesOf(back).map((entry) => (entry.kind === "poll" ? entry.mono : entry.record.mono));
  const real = Math.max(...monos) - Math.min(...monos);
  let state: DeriveState | undefined;
  let first = 0;
  let now = 0;
  let total = 0;
  for (const record of logOf(back)) {
    const next = fold([record], state);
    state = next.state;
    if (state.clock.now < now) return false;
    now = state.clock.now;
    if (first === 0) first = now;
    for (const { start, end } of valuesOf(next.facts, "m")) total += end - start;
  }
  return total <= real && now - first <= real;
}

interface BadTime {
  readonly before: number;
  readonly after: number;
  readonly ms: number;
}
const CODES = [0, 1, 3, 4, 5, 6, 8] as const;
const badTimes = fc
  .record({
    before: fc.constantFrom(...CODES),
    after: fc.constantFrom(...CODES),
    ms: fc.oneof(fc.integer({ min: 2000, max: 500_000 }), fc.integer({ min: 14_990, max: 15_010 })),
  })
  .filter(({ before, after }) => before !== after);

/** A minute in one mode, bad readings, a minute in another mode: bad time beyond the bridge is in no mode. */
function ignoresBad(fold: FoldAll, { before, after, ms }: BadTime): boolean {
  const life: Happening[] = [
    { kind: "mode", code: before, ms: 60_000 },
    { kind: "bad", ms },
    { kind: "mode", code: after, ms: 60_000 },
    { kind: "mode", code: 99, ms: 60_000 },
  ];
  const lengths: Record<string, number> = {};
  for (const { mode, raw, start, end } of valuesOf(fold(logOf(life)).facts, "m")) {
    const key = mode === "no_data" ? mode : raw;
    lengths[key] = (lengths[key] ?? 0) + end - start;
  }
  const bridged = ms <= 15_000 ? ms : 0;
  // The mode lasts until the last bad poll; the next code is read at the end.
  return (
    lengths[before.toString()] === 60_000 + bridged &&
    lengths[after.toString()] === 60_000 &&
    (lengths["no_data"] ?? 0) === ms - bridged
  );
}

/** Codes one after the other, each for a time, without gaps. */
const seen = fc
  .array(fc.record({ code: fc.constantFrom(...CODES, 20, 21), ms: fc.integer({ min: 100, max: 6000 }) }), {
    minLength: 1,
    maxLength: 25,
  })
  .map((parts) => parts.map(({ code, ms }): Happening => ({ kind: "mode", code, ms })));

/** No stage is shorter than min_stage except faults and estops, which are never merged away. */
function keepsFaults(fold: FoldAll, life: readonly Happening[]): boolean {
  const stages = valuesOf(fold(logOf([...life, { kind: "mode", code: 99, ms: 60_000 }])).facts, "m");
  let now = WALK_T0;
  const told = life.every((one) => {
    if (one.kind !== "mode") return true;
    const start = now;
    now += one.ms;
    // A short stage may be merged into a following fault, never the other way round.
    return (
      one.code < 20 ||
      stages.some(({ raw, ...stage }) => raw === one.code.toString() && stage.start <= start && now <= stage.end)
    );
  });
  return told && stages.every(({ mode, start, end }) => mode === "fault" || mode === "estop" || end - start >= 2000);
}

function stepped(by: (record: Extract<Stored<LogRecord>, { kind: "t" }>) => number): FoldAll {
  return withRecords((record) =>
    record.kind === "t" && record.seq > 3
      ? { ...record, value: { ...record.value, wall: record.value.wall + by(record) } }
      : record,
  );
}

it("if the wall clock is set back before a gap, each hour's time by mode still equals the stages in that hour", () => {
  const life: Happening[] = [
    { kind: "mode", code: 0, ms: 100 },
    { kind: "step", ms: -120_000 },
    { kind: "bad", ms: 120_000 },
    { kind: "mode", code: 3, ms: 1999 },
    { kind: "gap", ms: 3_000_000, power: false, retries: false },
    { kind: "mode", code: 0, ms: 1_300_000 },
    { kind: "mode", code: 1, ms: 100_000 },
  ];
  const { facts } = rightFold(logOf(life));
  expect(valuesOf(facts, "d")).toHaveLength(1);
  expect(hoursAreStages(rightFold, life)).toBe(true);
});

const LAWS = [
  law({
    name: "stages, including no_data, cover all time without holes or overlaps",
    lives: steppedWalks,
    right: rightFold,
    holds: tiles,
    planted: {
      "no_data stages are missing": withFacts((facts) =>
        facts.filter((fact) => fact.kind !== "m" || fact.value.mode !== "no_data"),
      ),
      "a stage begins before its predecessor ends": withFacts((facts) =>
        facts.map((fact) =>
          fact.kind === "m" ? { ...fact, value: { ...fact.value, start: fact.value.start - 1 } } : fact,
        ),
      ),
    },
  }),
  law({
    name: "each hour is written once, and its time by mode equals the stages in that hour",
    lives: steppedWalks,
    right: rightFold,
    holds: hoursAreStages,
    planted: {
      "time is booked to the wrong mode": withFacts((facts) =>
        facts.map((fact) => {
          if (fact.kind !== "d") return fact;
          const { spray = 0, idle = 0, ...rest } = fact.value.ms_by_mode;
          return { ...fact, value: { ...fact.value, ms_by_mode: { ...rest, spray: idle, idle: spray } } };
        }),
      ),
      "an hour is written twice": withFacts((facts) => [
        ...facts,
        ...facts.filter((fact) => fact.kind === "d").slice(0, 1),
      ]),
    },
  }),
  law({
    name: "time is not counted twice after the wall clock steps back",
    lives: steppedWalks,
    right: rightFold,
    holds: countsOnce,
    planted: {
      "corrected time follows a wall clock that is put forward": stepped(() => 9e6),
      "corrected time runs back with the wall clock": withSteps((state, record) => {
        if (record.kind !== "t") return state;
        const { clock } = state;
        return { ...state, clock: { ...clock, now: record.value.wall } };
      }),
    },
  }),
  law({
    name: "time with bad readings that is longer than the bridge counts for no mode",
    lives: badTimes,
    right: rightFold,
    holds: ignoresBad,
    planted: {
      "a bad reading counts as a value": withRecords((record) =>
        record.kind === "r" && record.quality === "bad" ? { ...record, value: 3, quality: "good" } : record,
      ),
      "bad readings are ignored": (records, from) =>
        rightFold(
          records.filter((record) => record.kind !== "r" || record.quality !== "bad"),
          from,
        ),
    },
  }),
  law({
    name: "stages shorter than min_stage are merged, except fault and estop",
    lives: seen,
    right: rightFold,
    holds: keepsFaults,
    planted: {
      "a fault shorter than min_stage is removed": withFacts((facts) =>
        facts.filter(
          ({ kind, value }) =>
            kind !== "m" || value.end - value.start >= 2000 || !["fault", "estop"].includes(value.mode),
        ),
      ),
      "min_stage is shorter than the parameters require": withRecords((record) =>
        record.kind === "p" ? { ...record, value: { ...record.value, min_stage_ms: 1900 } } : record,
      ),
    },
  }),
];

testLaws(LAWS, seedOf("test/core/derive/laws/time"));
