import type { Parameters } from "../core/types/parameters.ts";
import type { Fact, LogRecord, Stored } from "../core/types/record.ts";
import type { EpochMs } from "../core/types/units.ts";

/** Plain data that JSON keeps unchanged; only the fold looks inside. */
export type FoldState = unknown;

/** The fold of a booth's log, as the store needs it. */
export interface Fold {
  /** Of the definitions that facts are made by; stored with each. */
  readonly version: number;
  empty(): FoldState;
  /** Takes the state over: the caller uses only the one that comes back. Facts have no seq yet: the commit gives it. */
  step(state: FoldState, record: Stored<LogRecord>): { readonly state: FoldState; readonly facts: readonly Fact[] };
  /** The parameters now in force; null: none yet. */
  parametersIn(state: FoldState): Parameters | null;
  /** Corrected time of the record folded last. */
  timeOf(state: FoldState): EpochMs;
}
