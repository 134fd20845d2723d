import fc from "fast-check";
import { expect, test } from "vitest";
import type { DeriveState, FactDraft } from "../../../src/core/derive/state.ts";
import { tailOf } from "../../../src/core/derive/tail.ts";
import type { LogRecord, Stored } from "../../../src/core/types/record.ts";
import { commit, foldRecords, valuesOf, type Folded } from "../../support/booth.ts";
import { casesOf, seedOf } from "../../support/seed.ts";
import { chunkings, entriesOf, steppedWalks, WALK, WALK_T0, walks, type Happening } from "../../support/streams.ts";

const SEED = seedOf("test/core/derive/laws");
const RUNS = { numRuns: casesOf(1000), seed: SEED };
type Fold = (records: readonly Stored<LogRecord>[]) => Folded;

/** Facts without what says by which record they came. */
function bare(facts: readonly FactDraft[]): unknown[] {
  return facts.map(({ kind, value, quality }) => ({ kind, value, quality }));
}

function logOf(happenings: readonly Happening[], sizes: readonly number[] = [7]): Stored<LogRecord>[] {
  return commit(entriesOf(happenings), WALK, sizes);
}

function copy(state: DeriveState): DeriveState {
  return JSON.parse(JSON.stringify(state)) as DeriveState;
}

/** Stages tile the time from the first reading to the last one without a hole or an overlap; hours add up to them. */
function conserves(fold: Fold, happenings: readonly Happening[]): boolean {
  const { state, facts } = fold(logOf(happenings));
  const now = state.clock.now;
  const stages = [...valuesOf(facts, "m"), ...tailOf(state, now).stages];
  const tiles = stages.every(({ start, end }, index) => {
    const next = stages[index + 1];
    return end >= start && (next === undefined || next.start === end);
  });
  const hours = valuesOf(facts, "d").every(({ hour, ms_by_mode }) => {
    const total = Object.values(ms_by_mode).reduce((sum, ms) => sum + ms, 0);
    return hour <= (stages[0]?.start ?? 0) ? total <= 3_600_000 : total === 3_600_000;
  });
  return tiles && hours && stages.at(-1)?.end === now;
}

/** A state saved as JSON anywhere goes on as if nothing had been. */
function survivesRestart(fold: Fold, happenings: readonly Happening[], at: number): boolean {
  const records = logOf(happenings);
  const cut = at % (records.length + 1);
  const first = fold(records.slice(0, cut));
  const rest = foldRecords(records.slice(cut), copy(first.state));
  const whole = fold(records);
  return same([...first.facts, ...rest.facts], whole.facts) && same(rest.state, whole.state);
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Bad readings are in no mode: what is counted for a mode never exceeds the time in which it was read or bridged. */
function ignoresBad(fold: Fold, ms: number): boolean {
  const happenings: Happening[] = [
    { kind: "mode", code: 3, ms: 60_000 },
    { kind: "bad", ms },
    { kind: "mode", code: 1, ms: 60_000 },
    { kind: "mode", code: 0, ms: 60_000 },
  ];
  const spray = valuesOf(fold(logOf(happenings)).facts, "m").filter(({ mode }) => mode === "spray");
  const total = spray.reduce((sum, { start, end }) => sum + end - start, 0);
  return total === 60_000 + (ms <= 15_000 ? ms : 0);
}

/** The true length of the walk bounds what is counted, however the clock is put. */
function countsOnce(fold: Fold, happenings: readonly Happening[]): boolean {
  const back = happenings.map((one) => (one.kind === "step" ? { ...one, ms: -Math.abs(one.ms) } : one));
  const { state, facts } = fold(logOf(back.filter(({ kind }) => kind !== "boot")));
  const entries = entriesOf(back.filter(({ kind }) => kind !== "boot"));
  const monos = entries.map((entry) => (entry.kind === "poll" ? entry.mono : entry.record.mono));
  const real = Math.max(...monos) - Math.min(...monos);
  const total = valuesOf(facts, "m").reduce((sum, { start, end }) => sum + end - start, 0);
  return total <= real && state.clock.now - (valuesOf(facts, "m")[0]?.start ?? state.clock.now) <= real;
}

function neverNegative(fold: Fold, happenings: readonly Happening[]): boolean {
  const totals: Record<string, number> = {};
  let state: DeriveState | undefined;
  return logOf(happenings).every((record) => {
    const next = state === undefined ? fold([record]) : foldRecords([record], state);
    state = next.state;
    const grows = Object.entries(state.counters).every(([tag, { total_steps }]) => {
      const before = totals[tag] ?? 0;
      totals[tag] = total_steps;
      return total_steps >= before;
    });
    const removed = valuesOf(next.facts, "f").map(({ maintenance }) => maintenance ?? null);
    const clean = removed.every(
      (one) =>
        one === null ||
        Math.min(
          one.duration_ms,
          one.overuse_ms,
          one.booth_overuse_ms,
          one.active_spray_ms,
          one.cycles,
          one.booth_overuse_cycles,
        ) >= 0,
    );
    return grows && clean;
  });
}

test("conservation: the modes and the time without data add up to all time", () => {
  fc.assert(
    fc.property(steppedWalks, (walk) => conserves(foldRecords, walk)),
    RUNS,
  );
});

test("restart: a state saved at any record goes on the same", () => {
  fc.assert(
    fc.property(steppedWalks, fc.nat(), (walk, at) => survivesRestart(foldRecords, walk, at)),
    RUNS,
  );
});

test("replay: records already seen change nothing", () => {
  fc.assert(
    fc.property(walks, fc.nat(), (walk, at) => {
      const records = logOf(walk);
      const { state } = foldRecords(records);
      const before = copy(state);
      const again = foldRecords(records.slice(at % records.length), state);
      return again.facts.length === 0 && same(again.state, before);
    }),
    RUNS,
  );
});

test("batch boundaries don't matter: commits of any size give the same facts", () => {
  fc.assert(
    fc.property(walks, chunkings, chunkings, (walk, one, other) => {
      const end = WALK_T0 + 100 * 86_400_000;
      const last = Math.max(...entriesOf(walk).map((entry) => (entry.kind === "poll" ? entry.at : 0)));
      const told = (sizes: number[]): unknown[] => {
        const { facts, state } = foldRecords(logOf(walk, sizes));
        const tail = tailOf(state, end);
        // When the last hours are written depends on when the next record comes.
        const others = [...facts, ...tail.facts].filter(
          (fact) => "cf".includes(fact.kind) || (fact.kind === "d" && fact.value.hour < last - 14 * 3_600_000),
        );
        const stages = [...valuesOf(facts, "m"), ...tail.stages].map((stage) => {
          const { mode, raw, start, end: until, is_new_start, uncertain_ms } = stage;
          return { mode, raw, start, until, is_new_start, uncertain_ms };
        });
        return [...bare(others), ...stages].map((fact) => JSON.stringify(fact)).sort();
      };
      expect(told(one)).toEqual(told(other));
    }),
    RUNS,
  );
});

test("a clock put back never counts time twice", () => {
  fc.assert(
    fc.property(steppedWalks, (walk) => countsOnce(foldRecords, walk)),
    RUNS,
  );
});

test("no counter and no figure ever goes down below nothing", () => {
  fc.assert(
    fc.property(walks, (walk) => neverNegative(foldRecords, walk)),
    RUNS,
  );
});

test("bad quality adds to no mode", () => {
  fc.assert(
    fc.property(fc.integer({ min: 2000, max: 500_000 }), (ms) => ignoresBad(foldRecords, ms)),
    RUNS,
  );
});

test("rebuild = incremental: folding the whole log again gives the same facts", () => {
  fc.assert(
    fc.property(walks, (walk) => {
      const records = logOf(walk);
      let state: DeriveState | undefined;
      const facts: FactDraft[] = [];
      for (const record of records) {
        const next: Folded = foldRecords([record], ...(state === undefined ? [] : [copy(state)]));
        state = next.state;
        facts.push(...next.facts);
      }
      return same(facts, foldRecords(records).facts);
    }),
    { numRuns: casesOf(200), seed: SEED },
  );
});

test("cycles lie inside runs: none overlaps another, and a counted one holds spray", () => {
  fc.assert(
    fc.property(walks, (walk) => {
      const cycles = valuesOf(foldRecords(logOf(walk)).facts, "c");
      return cycles.every(
        (cycle, index) =>
          cycle.end >= cycle.start &&
          cycle.start >= (cycles[index - 1]?.end ?? 0) &&
          (!cycle.counted || cycle.spray_ms > 0),
      );
    }),
    RUNS,
  );
});

/** Faults put into the fold: each law must notice its own. */
const WALK_OF_BUGS: Happening[] = [
  { kind: "mode", code: 3, ms: 400_000 },
  { kind: "step", ms: -3_600_000 },
  { kind: "mode", code: 4, ms: 60_000 },
  { kind: "gap", ms: 3_600_000, power: false, retries: true },
  { kind: "mode", code: 6, ms: 600_000 },
  { kind: "mode", code: 1, ms: 600_000 },
];

function mangled(change: (record: Stored<LogRecord>) => Stored<LogRecord>): Fold {
  return (records) => foldRecords(records.map(change));
}

test("planted: a fold that drops a stage breaks conservation", () => {
  const drops: Fold = (records) => {
    const folded = foldRecords(records);
    return { ...folded, facts: folded.facts.filter((fact) => fact.kind !== "m" || fact.value.mode !== "no_data") };
  };
  expect(conserves(foldRecords, WALK_OF_BUGS)).toBe(true);
  expect(conserves(drops, WALK_OF_BUGS)).toBe(false);
});

test("planted: a fold that keeps something outside its state breaks restart", () => {
  const forgets: Fold = (records) => {
    const folded = foldRecords(records);
    return { ...folded, state: { ...folded.state, bays: folded.state.bays.map((bay) => ({ ...bay, cycle: null })) } };
  };
  const cuts = Array.from({ length: 120 }, (_, at) => at);
  expect(cuts.every((at) => survivesRestart(foldRecords, WALK_OF_BUGS, at))).toBe(true);
  expect(cuts.every((at) => survivesRestart(forgets, WALK_OF_BUGS, at))).toBe(false);
});

test("planted: a fold that takes a bad reading for a value breaks the law of bad quality", () => {
  const trusts = mangled((record) =>
    record.kind === "r" && record.quality === "bad" ? { ...record, value: 3, quality: "good" } : record,
  );
  expect(ignoresBad(foldRecords, 100_000)).toBe(true);
  expect(ignoresBad(trusts, 100_000)).toBe(false);
});

test("planted: a clock that jumps with the wall clock counts time that never was", () => {
  const jumps = mangled((record) =>
    record.kind === "t" && record.seq > 3
      ? { ...record, value: { ...record.value, wall: record.value.wall + 9e6 } }
      : record,
  );
  expect(countsOnce(foldRecords, WALK_OF_BUGS)).toBe(true);
  expect(countsOnce(jumps, WALK_OF_BUGS)).toBe(false);
});

test("planted: a counter that books a fall breaks the law of no negative deltas", () => {
  const fallen = { raw: 0, total_steps: -1, unattributed_steps: 0, odd: 0, boot: "", mono: 0, at: 0 };
  const books: Fold = (records) => {
    const folded = foldRecords(records);
    return { ...folded, state: { ...folded.state, counters: { fallen } } };
  };
  expect(neverNegative(foldRecords, WALK_OF_BUGS)).toBe(true);
  expect(neverNegative(books, WALK_OF_BUGS)).toBe(false);
});
