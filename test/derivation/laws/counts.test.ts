import type { CycleFact, StageFact } from "../../../src/domain/record.ts";
import type { DeriveState } from "../../../src/derivation/state.ts";
import { openEndOf } from "../../../src/derivation/fold.ts";
import { valuesOf } from "../../support/booth.ts";
import { logOf, rightFold, withFacts, withState, withSteps, type FoldAll } from "../folds.ts";
import { law, testLaws } from "../law.ts";
import { seedOf } from "../../support/seed.ts";
import { walks, type Happening } from "../streams.ts";

/** Totals never fall, and no figure of a filter's record is negative. */
function neverNegative(fold: FoldAll, life: readonly Happening[]): boolean {
  const totals: Record<string, number> = {};
  let state: DeriveState | undefined;
  return logOf(life).every((record) => {
    const next = fold([record], state);
    state = next.state;
    const grows = Object.entries(state.counters).every(([tag, { total_steps, unattributed_steps }]) => {
      const before = totals[tag] ?? 0;
      totals[tag] = total_steps;
      return total_steps >= before && unattributed_steps >= 0 && unattributed_steps <= total_steps;
    });
    const figures = valuesOf(next.facts, "f").flatMap(({ maintenance }) => {
      if (maintenance === null || maintenance === undefined) return [];
      const { duration_ms, overuse_ms, booth_overuse_ms, active_spray_ms, cycles, booth_overuse_cycles } = maintenance;
      // Overuse is part of the use.
      const spare = [duration_ms - overuse_ms, cycles - booth_overuse_cycles];
      return [duration_ms, overuse_ms, booth_overuse_ms, active_spray_ms, cycles, booth_overuse_cycles, ...spare];
    });
    return grows && figures.every((figure) => figure >= 0);
  });
}

/** Every count of a PLC that keeps its memory is booked exactly once, also if it happened during a gap. */
function losesNoCount(fold: FoldAll, life: readonly Happening[]): boolean {
  const kept = life.map((one) => (one.kind === "gap" ? { ...one, power: false } : one));
  const folded = fold(logOf(kept));
  const { state } = openEndOf(folded.state, folded.state.clock.now);
  const [code, cycles] = kept.reduce(
    ([before, sum], one) =>
      one.kind === "mode" ? [one.code, sum + (before === 6 && one.code === 8 ? 1 : 0)] : [before, sum],
    [1, 0],
  );
  const meter = state.counters["meter"];
  const growth = meter === undefined ? NaN : Math.round((meter.raw - 100) * 10);
  return code >= 0 && state.counters["cycles"]?.total_steps === cycles && meter?.total_steps === growth;
}

type Stage = StageFact["value"];
type Cycle = CycleFact["value"];
const RUN = ["spray", "flash", "purge", "bake", "cool_down"];
const HARD = ["off", "maintenance", "fault", "estop"];

/**
 * By the stages alone: a cycle begins with a spray stage, holds nothing that breaks a run, and ends with a stage. What
 * counts has the bake or the spray that it takes, and no two cycles share a moment.
 */
function isInRun({ start, end, counted, spray_ms, bake_ms, result }: Cycle, stages: readonly Stage[]): boolean {
  // A spray with a single reading starts a cycle too.
  const counts = (stage: Stage): boolean => stage.end > stage.start || stage.mode === "spray";
  const inside = stages.filter((stage) => stage.start >= start && stage.end <= end && counts(stage));
  const from = inside.at(0);
  const until = inside.at(-1);
  const whole = from?.mode === "spray" && from.start === start && until?.end === end;
  let pause = 0;
  let only_gap = true;
  const unbroken = inside.every(({ mode, start: since, end: to }) => {
    if (RUN.includes(mode)) [pause, only_gap] = [0, true];
    else {
      pause += to - since;
      only_gap &&= mode === "no_data";
    }
    return !HARD.includes(mode) && pause < (only_gap ? 1_800_000 : 120_000);
  });
  const sum = (mode: string): number =>
    inside.filter((stage) => stage.mode === mode).reduce((total, stage) => total + stage.end - stage.start, 0);
  const earned = result === "complete" ? bake_ms >= 300_000 : spray_ms >= 180_000 && bake_ms === 0;
  return whole && unbroken && sum("spray") === spray_ms && sum("bake") === bake_ms && (!counted || earned);
}

function cyclesAreInRuns(fold: FoldAll, life: readonly Happening[]): boolean {
  const { facts } = fold(logOf(life));
  const stages = valuesOf(facts, "m");
  const told = stages.at(-1)?.end ?? 0;
  const cycles = valuesOf(facts, "c").filter(({ end }) => end <= told);
  const apart = cycles.every(({ start }, index) => start >= (cycles[index - 1]?.end ?? 0));
  return apart && cycles.every((cycle) => isInRun(cycle, stages));
}

/** The fold with each cycle fact changed by `change`. */
function withCycles(change: (cycle: Cycle, before: Cycle | undefined) => Cycle): FoldAll {
  let before: Cycle | undefined;
  return withFacts((facts) =>
    facts.map((fact) => {
      if (fact.kind !== "c") return fact;
      const value = change(fact.value, before);
      before = fact.value;
      return { ...fact, value };
    }),
  );
}

const LAWS = [
  law({
    name: "counter totals never fall, and no figure of a filter's removal record is negative",
    lives: walks,
    right: rightFold,
    holds: neverNegative,
    planted: {
      "a falling counter lowers its total": withSteps((state) => ({
        ...state,
        counters: Object.fromEntries(
          Object.entries(state.counters).map(([tag, one]) => [tag, { ...one, total_steps: Math.round(one.raw * 10) }]),
        ),
      })),
      "a filter's overuse is longer than the time it was installed": withFacts((facts) =>
        facts.map((fact) => {
          if (fact.kind !== "f" || fact.value.maintenance === null || fact.value.maintenance === undefined) return fact;
          const { maintenance } = fact.value;
          const overuse_ms = maintenance.duration_ms + 1;
          return { ...fact, value: { ...fact.value, maintenance: { ...maintenance, overuse_ms } } };
        }),
      ),
    },
  }),
  law({
    name: "every count is booked exactly once, even if the PLC counts it during a gap",
    lives: walks,
    right: rightFold,
    holds: losesNoCount,
    planted: {
      "counts from time without data are discarded": withState((state) => ({
        ...state,
        counters: Object.fromEntries(
          Object.entries(state.counters).map(([tag, one]) => [
            tag,
            { ...one, total_steps: one.total_steps - one.unattributed_steps },
          ]),
        ),
      })),
      "the first cycle count is booked twice": withState((state) => {
        const { cycles, ...rest } = state.counters;
        if (cycles === undefined || cycles.total_steps === 0) return state;
        return { ...state, counters: { ...rest, cycles: { ...cycles, total_steps: cycles.total_steps + 1 } } };
      }),
    },
  }),
  law({
    name: "every cycle lies within one run of stages",
    lives: walks,
    right: rightFold,
    holds: cyclesAreInRuns,
    planted: {
      "a cycle starts in the previous run": withCycles((cycle, before) =>
        before === undefined ? cycle : { ...cycle, start: before.start },
      ),
      "a cycle ends in the pause after its run": withCycles((cycle) => ({ ...cycle, end: cycle.end + 1000 })),
      "a cycle with a short bake counts as complete": withCycles((cycle) =>
        cycle.result === "short_bake" ? { ...cycle, counted: true } : cycle,
      ),
    },
  }),
];

testLaws(LAWS, seedOf("test/core/derive/laws/counts"));
