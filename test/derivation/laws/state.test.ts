import fc from "fast-check";
import type { DeriveState, FactDraft } from "../../../src/derivation/state.ts";
import { openEndOf } from "../../../src/derivation/fold.ts";
import { valuesOf } from "../../support/booth.ts";
import { copyOf, isSame, logOf, rightFold, withFacts, withRecords, withState, type FoldAll } from "../folds.ts";
import { law, testLaws } from "../law.ts";
import { seedOf } from "../../support/seed.ts";
import { chunkings, entriesOf, steppedWalks, WALK_T0, walks, type Happening } from "../streams.ts";
import { HOUR_MS, DAY_MS } from "../../../src/domain/time.ts";

interface Cut {
  readonly life: readonly Happening[];
  readonly at: number;
}

function ignoresReplay(fold: FoldAll, { life, at }: Cut): boolean {
  const records = logOf(life);
  const { state } = fold(records);
  const before = copyOf(state);
  const again = fold(records.slice(at % records.length), state);
  return again.facts.length === 0 && isSame(again.state, before);
}

interface Committed {
  readonly life: readonly Happening[];
  readonly one: readonly number[];
  readonly other: readonly number[];
}

/** Returns the facts of a life that do not depend on the commits. */
function toldOf(fold: FoldAll, life: readonly Happening[], sizes: readonly number[]): string[] {
  const { facts, state } = fold(logOf(life, sizes));
  const open_end = openEndOf(state, WALK_T0 + 100 * DAY_MS);
  // The time of writing the last hours depends on the next record.
  const polls = entriesOf(life).map((entry) => (entry.kind === "poll" ? entry.at : 0));
  const late = Math.max(...polls) - 14 * HOUR_MS;
  const others = [...facts, ...open_end.facts]
    .filter((fact) => "cf".includes(fact.kind) || (fact.kind === "d" && fact.value.hour < late))
    .map(({ kind, value, quality }) => ({ kind, value, quality }));
  const stages = [...valuesOf(facts, "m"), ...open_end.stages].map(
    ({ mode, raw, start, end, is_new_start, uncertain_ms }) => ({ mode, raw, start, end, is_new_start, uncertain_ms }),
  );
  return [...others, ...stages].map((fact) => JSON.stringify(fact)).sort();
}

/** Returns the log with other commit sizes, at which coverage records end. */
const unbridged = withRecords((record) =>
  record.kind === "h" ? { ...record, value: { ...record.value, to: record.value.from } } : record,
);

interface Saved {
  readonly life: readonly Happening[];
  readonly sizes: readonly number[];
}

/** Incremental: saves and loads the state every few records. Rebuild: folds the whole log at once. */
function rebuildsTheSame(fold: FoldAll, { life, sizes }: Saved): boolean {
  const records = logOf(life);
  const facts: FactDraft[] = [];
  let state: DeriveState | undefined;
  for (let from = 0, turn = 0; from < records.length; turn += 1) {
    const size = 10 * (sizes[turn % sizes.length] ?? 1);
    const next = fold(records.slice(from, from + size), state);
    state = copyOf(next.state);
    facts.push(...next.facts);
    from += size;
  }
  const rebuilt = fold(records);
  return isSame(facts, rebuilt.facts) && isSame(state, rebuilt.state);
}

/** A fault: the fold has memory outside of the state, and marks facts by the number of calls. */
function countingFold(): FoldAll {
  return (records, from) => {
    const mark = from === undefined ? "good" : "uncertain";
    const folded = rightFold(records, from);
    return { ...folded, facts: folded.facts.map((fact) => ({ ...fact, quality: mark })) };
  };
}

const noCycles = (state: DeriveState): DeriveState => ({
  ...state,
  bays: state.bays.map((bay) => ({ ...bay, cycle: null })),
});

const LAWS = [
  law({
    name: "replayed records change neither facts nor state",
    lives: fc.record({ life: walks, at: fc.nat(10_000) }),
    right: rightFold,
    holds: ignoresReplay,
    planted: {
      "the fold accepts any sequence number": (records, from) =>
        rightFold(records, from === undefined ? undefined : { ...from, seq: 0 }),
      "the fold processes the last record again": (records, from) =>
        rightFold(records, from === undefined ? undefined : { ...from, seq: Math.max(0, from.seq - 1) }),
    },
  }),
  law<FoldAll, Committed>({
    name: "the facts of a life do not depend on the commit sizes",
    lives: fc.record({ life: walks, one: chunkings, other: chunkings }),
    right: rightFold,
    holds: (fold, { life, one, other }) => isSame(toldOf(fold, life, one), toldOf(fold, life, other)),
    planted: {
      "gaps are derived from the spacing of records instead of coverage records": unbridged,
      "facts of the same instant are lost within a commit": withFacts((facts) =>
        facts.filter((fact, index) => index === 0 || fact.mono !== facts[index - 1]?.mono),
      ),
    },
  }),
  law<FoldAll, Saved>({
    name: "a rebuild from the whole log gives the same facts and state as incremental folding",
    lives: fc.record({ life: steppedWalks, sizes: chunkings }),
    right: rightFold,
    holds: rebuildsTheSame,
    planted: {
      "the state does not contain the open cycle": withState(noCycles),
      "the state does not contain the open gap": withState((state) => ({
        ...state,
        bays: state.bays.map((bay) => ({ ...bay, gap: null })),
      })),
      "facts depend on the number of fold calls": countingFold(),
    },
  }),
];

testLaws(LAWS, seedOf("test/core/derive/laws/state"));
