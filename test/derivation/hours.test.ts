import fc from "fast-check";
import type { Parameters } from "../../src/domain/parameters.ts";
import type { FactDraft } from "../../src/derivation/state.ts";
import type { HourFact } from "../../src/domain/record.ts";
import type { TakenEntry } from "../../src/domain/taken.ts";
import { commit, valuesOf } from "../support/booth.ts";
import { rightFold, withFacts, type FoldAll } from "./folds.ts";
import { law, testLaws } from "./law.ts";
import { seedOf } from "../support/seed.ts";
import { chunkings, entriesOf, steppedWalks, WALK, type Happening } from "./streams.ts";
import { HOUR_MS } from "../../src/domain/time.ts";

/** Parameters without a cycle counter, so that hours count derived cycles. */
const UNCOUNTED: Parameters = {
  ...WALK,
  tags: Object.fromEntries(Object.entries(WALK.tags).filter(([, { role }]) => role !== "cycle_counter")),
};

function uncounted(entry: TakenEntry): TakenEntry {
  if (entry.kind !== "record" || entry.record.kind !== "p") return entry;
  return { ...entry, record: { ...entry.record, value: UNCOUNTED } };
}

interface Life {
  readonly walk: readonly Happening[];
  readonly sizes: readonly number[];
}

/** Every hour is written once, complete, and with every counted cycle that ended in it. */
function writtenOnce(fold: FoldAll, { walk, sizes }: Life): boolean {
  const entries = entriesOf([...walk, { kind: "mode", code: 1, ms: 4_500_000 }]).map(uncounted);
  const { facts } = fold(commit(entries, UNCOUNTED, sizes));
  const hours = valuesOf(facts, "d");
  const ends = valuesOf(facts, "c").filter(({ counted }) => counted);
  const cyclesIn = (hour: number): number => ends.filter(({ end }) => end >= hour && end < hour + HOUR_MS).length;
  if (new Set(hours.map(({ hour }) => hour)).size < hours.length) return false;
  if (hours.some(({ hour, cycles }) => cycles !== cyclesIn(hour))) return false;
  // The first hour starts with the first reading.
  const lengths = hours.slice(1).map(({ ms_by_mode }) => Object.values(ms_by_mode).reduce((sum, ms) => sum + ms, 0));
  return lengths.every((ms) => ms === HOUR_MS);
}

function withHours(change: (value: HourFact["value"]) => readonly HourFact["value"][]): FoldAll {
  return withFacts((facts) =>
    facts.flatMap((fact): FactDraft[] =>
      fact.kind === "d" ? change(fact.value).map((value) => ({ ...fact, value })) : [fact],
    ),
  );
}

const LAWS = [
  law({
    name: "each hour is written once and completely, with every counted cycle that ended in it",
    lives: fc.record({ walk: steppedWalks, sizes: chunkings }),
    right: rightFold,
    holds: writtenOnce,
    planted: {
      "an hour is written twice": withHours((value) => [value, value]),
      "a cycle that became known late is missing": withHours((value) => [
        { ...value, cycles: Math.min(value.cycles, 1) },
      ]),
      "an hour is written before it is complete": withHours((value) => {
        const [[mode, ms] = ["idle", 0]] = Object.entries(value.ms_by_mode);
        return [{ ...value, ms_by_mode: { ...value.ms_by_mode, [mode]: ms - 1 } }];
      }),
    },
  }),
];

testLaws(LAWS, seedOf("test/core/derive/hours"));
