import type { DeriveState, FactDraft } from "../../src/derivation/state.ts";
import type { LogRecord, Stored } from "../../src/domain/record.ts";
import { commit, foldRecords, type Folded } from "../support/booth.ts";
import { entriesOf, WALK, type Happening } from "./streams.ts";

/** The fold as a law tests it: folds records on a state, which is used up. */
export type FoldAll = (records: readonly Stored<LogRecord>[], from?: DeriveState) => Folded;

export const rightFold: FoldAll = foldRecords;

/** Returns the log of a random life, in commits of these sizes. */
export function logOf(happenings: readonly Happening[], sizes: readonly number[] = [7]): Stored<LogRecord>[] {
  return commit(entriesOf(happenings), WALK, sizes);
}

export function copyOf(state: DeriveState): DeriveState {
  return JSON.parse(JSON.stringify(state)) as DeriveState;
}

export function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** The fold with a fault in its input. */
export function withRecords(change: (record: Stored<LogRecord>) => Stored<LogRecord>): FoldAll {
  return (records, from) => foldRecords(records.map(change), from);
}

/** The fold with a fault in its facts. */
export function withFacts(change: (facts: readonly FactDraft[]) => FactDraft[]): FoldAll {
  return (records, from) => {
    const folded = foldRecords(records, from);
    return { ...folded, facts: change(folded.facts) };
  };
}

/** The fold with a fault in the state that it returns. */
export function withState(change: (state: DeriveState) => DeriveState): FoldAll {
  return (records, from) => {
    const folded = foldRecords(records, from);
    return { ...folded, state: change(folded.state) };
  };
}

/** The fold with a fault after each step. */
export function withSteps(change: (state: DeriveState, record: Stored<LogRecord>) => DeriveState): FoldAll {
  return (records, from) => {
    let state = from;
    const facts: FactDraft[] = [];
    for (const record of records) {
      const next = foldRecords([record], state);
      state = change(next.state, record);
      facts.push(...next.facts);
    }
    return { ...foldRecords([], state), facts, records: [...records] };
  };
}
