import { step } from "../../derivation/fold.ts";
import { STATE_VERSION, type DeriveState } from "../../derivation/state.ts";
import { DERIVATION_VERSION } from "../../domain/rebuild.ts";

/** What folds a booth's log: the derivation, or one that a test puts round it or in its place. */
export interface Fold {
  /** Of the definitions that facts are made by; stored with each. */
  readonly version: number;
  /** Takes the state over: the caller uses only the one that comes back. Facts have no seq yet: the commit gives it. */
  readonly step: typeof step;
}

export const deriveFold: Fold = { version: DERIVATION_VERSION, step };

/** A state as it was saved; undefined: another version saved it, and this one can't go on from it. */
export function savedState(text: string): DeriveState | undefined {
  const state = JSON.parse(text) as Partial<DeriveState> | null;
  return state?.version === STATE_VERSION ? (state as DeriveState) : undefined;
}

/** A copy that can be folded on by itself. */
export function copyOf(state: DeriveState): DeriveState {
  return JSON.parse(JSON.stringify(state)) as DeriveState;
}

export function isSameState(a: DeriveState, b: DeriveState): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
