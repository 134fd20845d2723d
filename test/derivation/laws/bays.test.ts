import fc from "fast-check";
import type { Parameters } from "../../../src/domain/parameters.ts";
import type { StageFact } from "../../../src/domain/record.ts";
import { openEndOf } from "../../../src/derivation/fold.ts";
import { fold, type Folded, poll, type Script, silence, stay, T0, valuesOf } from "../../support/booth.ts";
import { lived } from "../../support/lives.ts";
import { law, testLaws } from "../law.ts";
import { PLAIN, tag } from "../../support/parameters.ts";
import { seedOf } from "../../support/seed.ts";

const TWO: Parameters = {
  ...PLAIN,
  bay_count: 2,
  tags: { left: tag("mode", "", { bay: 1 }), right: tag("mode", "", { bay: 2 }) },
};
/** Modes by priority, highest first, as the definitions list them. */
const PRIORITY = "estop fault maintenance bake purge cool_down flash spray unknown no_data prep setback idle off".split(
  " ",
);

interface Turn {
  readonly bay: "left" | "right" | "neither";
  readonly code: number;
  readonly ms: number;
}
const turns = fc.array(
  fc.record({
    bay: fc.constantFrom("left", "right", "left", "right", "neither"),
    code: fc.constantFrom(0, 1, 2, 3, 3, 4, 5, 6, 8, 9, 10, 20, 21, 99),
    ms: fc.oneof(fc.integer({ min: 500, max: 10_000 }), fc.integer({ min: 10_000, max: 400_000 })),
  }),
  { minLength: 1, maxLength: 25 },
);

/** A change of mode in one of the bays; neither: nothing is read for that time. */
function lifeOf(life: readonly Turn[]): Script {
  const booth = lived(TWO, [60_000, { left: 1, right: 0 }]);
  for (const { bay, code, ms } of life) {
    if (bay === "neither") silence(booth, ms);
    else stay(booth, ms, { [bay]: code });
  }
  poll(booth);
  booth.now += 60_000;
  return booth;
}

type Stage = StageFact["value"];

/** At each moment the booth is in the bays' mode with the higher priority; equal neighbors are one stage. */
function isHighest({ facts, state }: Folded): boolean {
  const told = valuesOf(facts, "m");
  const of = (number: number): Stage[] => told.filter(({ bay }) => bay === number);
  const booth = of(0);
  const until = Math.min(...[1, 2].map((bay) => of(bay).at(-1)?.end ?? 0), booth.at(-1)?.end ?? 0);
  const borders = told.flatMap(({ start, end }) => [start, end]).filter((at) => at >= T0 && at < until);
  const modeAt = (stages: readonly Stage[], at: number): string =>
    stages.find(({ start, end }) => start <= at && at < end)?.mode ?? "";
  const fits = [...new Set(borders)].every((at) => {
    const modes = [1, 2].map((bay) => PRIORITY.indexOf(modeAt(of(bay), at)));
    return modeAt(booth, at) === PRIORITY[Math.min(...modes)];
  });
  const touching = booth.every(({ start, mode }, index) => {
    const before = booth[index - 1];
    return before === undefined || (before.end === start && before.mode !== mode);
  });
  return fits && touching && state.bays.length === 2;
}

type FoldBays = (booth: Script) => Folded;
const right: FoldBays = (booth) => fold(booth.entries, TWO, [9]);

/** Each cycle belongs to one bay; the booth itself has none. */
function cyclesAreBays({ facts, state }: Folded, alone: readonly Folded[]): boolean {
  const texts = (folded: Folded, bay: number, as: number): string[] =>
    [...folded.facts, ...openEndOf(folded.state, state.clock.now).facts]
      .filter((fact) => fact.kind === "c")
      .filter(({ value }) => value.bay === bay)
      .map(({ value }) => JSON.stringify({ ...value, bay: as }));
  const united = [1, 2].map((bay) => texts({ facts, state, records: [] }, bay, bay));
  const apart = alone.map((folded, index) => texts(folded, 0, index + 1));
  return JSON.stringify(united) === JSON.stringify(apart) && valuesOf(facts, "c").every(({ bay }) => bay > 0);
}

/** The same life of a booth with only that bay. */
function aloneOf(booth: Script, bay: "left" | "right"): Folded {
  const one: Parameters = { ...PLAIN, tags: { [bay]: tag("mode") } };
  const entries = booth.entries.map((entry) =>
    entry.kind === "record" && entry.record.kind === "p"
      ? { ...entry, record: { ...entry.record, value: one } }
      : entry.kind === "poll"
        ? { ...entry, changes: entry.changes.filter(([name]) => name === bay) }
        : entry,
  );
  return fold(entries, one, [9]);
}

const LAWS = [
  law<FoldBays, readonly Turn[]>({
    name: "a booth with two bays is in the bays' mode with the higher priority",
    lives: turns,
    right,
    holds: (folds, life) => isHighest(folds(lifeOf(life))),
    planted: {
      "the booth always takes the mode of its first bay": (booth) => {
        const folded = right(booth);
        const first = folded.facts.flatMap((fact) => (fact.kind === "m" && fact.value.bay === 1 ? [fact] : []));
        const facts = folded.facts.filter((fact) => fact.kind !== "m" || fact.value.bay !== 0);
        return {
          ...folded,
          facts: [...facts, ...first.map((fact) => ({ ...fact, value: { ...fact.value, bay: 0 } }))],
        };
      },
      "the booth shows spray although cool_down has the higher priority": (booth) => {
        const folded = right(booth);
        return { ...folded, facts: folded.facts.map((fact) => lowered(fact)) };
      },
    },
  }),
  law<FoldBays, readonly Turn[]>({
    name: "in a booth with two bays, each cycle belongs to one bay",
    lives: turns,
    right,
    holds: (folds, life) => {
      const booth = lifeOf(life);
      return cyclesAreBays(folds(booth), [aloneOf(booth, "left"), aloneOf(booth, "right")]);
    },
    planted: {
      "the cycles of the second bay are missing": (booth) => {
        const folded = right(booth);
        return { ...folded, facts: folded.facts.filter((fact) => fact.kind !== "c" || fact.value.bay !== 2) };
      },
      "cycles belong to the booth instead of a bay": (booth) => {
        const folded = right(booth);
        return {
          ...folded,
          facts: folded.facts.map((fact) => (fact.kind === "c" ? { ...fact, value: { ...fact.value, bay: 0 } } : fact)),
        };
      },
    },
  }),
];

/** A fault: spray is shown although cool_down has the higher priority. */
function lowered(fact: Folded["facts"][number]): Folded["facts"][number] {
  return fact.kind === "m" && fact.value.bay === 0 && fact.value.mode === "cool_down"
    ? { ...fact, value: { ...fact.value, mode: "spray" } }
    : fact;
}

testLaws(LAWS, seedOf("test/core/derive/laws/bays"));
