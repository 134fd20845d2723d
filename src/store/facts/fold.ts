import { step } from "../../derivation/fold.ts";
import { STATE_VERSION, type DeriveState } from "../../derivation/state.ts";
import { DERIVATION_VERSION } from "../../domain/rebuild.ts";

/** The fold of a booth's log: the function that turns a state and a record into a new state and facts. Tests replace or wrap it. */
export interface Fold {
  /** Version of the definitions that facts are made by. It is stored with each fact. */
  readonly version: number;
  /**
   * Folds one record into the state. The given state is modified in place, so a caller that still needs it must copy it first. The facts
   * have no seq yet: the commit assigns it.
   */
  readonly step: typeof step;
}

export const deriveFold: Fold = { version: DERIVATION_VERSION, step };

/** Parses a saved state; undefined: another version of the agent saved it. */
export function savedState(text: string): DeriveState | undefined {
  const state = JSON.parse(text) as Partial<DeriveState> | null;
  return state?.version === STATE_VERSION ? (state as DeriveState) : undefined;
}

/** Returns a copy of a state that can be folded independently of the original. */
export function copyOf(state: DeriveState): DeriveState {
  return JSON.parse(JSON.stringify(state)) as DeriveState;
}

export function isSameState(a: DeriveState, b: DeriveState): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
