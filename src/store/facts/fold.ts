import { step } from "../../derivation/fold.ts";
import { STATE_VERSION, type DeriveState } from "../../derivation/state.ts";
import { DERIVATION_VERSION } from "../../domain/rebuild.ts";

/** The fold of a booth's log: the derivation, or a wrapper or replacement of it in tests. */
export interface Fold {
  /** Version of the definitions of facts; stored with each fact. */
  readonly version: number;
  /** Changes the state: the caller continues with the returned one only. Facts have no seq yet: the commit assigns it. */
  readonly step: typeof step;
}

export const deriveFold: Fold = { version: DERIVATION_VERSION, step };

/** Parses a saved state; undefined: another version saved it. */
export function savedState(text: string): DeriveState | undefined {
  const state = JSON.parse(text) as Partial<DeriveState> | null;
  return state?.version === STATE_VERSION ? (state as DeriveState) : undefined;
}

/** Returns a copy that can be folded independently. */
export function copyOf(state: DeriveState): DeriveState {
  return JSON.parse(JSON.stringify(state)) as DeriveState;
}

export function isSameState(a: DeriveState, b: DeriveState): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
