import type { Parameters } from "../core/types/parameters.ts";
import type { Fact, LogRecord, Stored } from "../core/types/record.ts";
import type { BootPlace, KnownTime } from "../core/derive/placing.ts";
import type { EpochMs } from "../core/types/units.ts";

/** Plain data that JSON keeps unchanged; only the fold looks inside. */
export type FoldState = unknown;

/** The fold of a booth's log, as the store needs it. */
export interface Fold {
  /** Of the definitions that facts are made by; stored with each. */
  readonly version: number;
  empty(): FoldState;
  /** Whether a saved state is one that `step` can go on from; another version's isn't. */
  accepts(state: FoldState): boolean;
  /** A copy that can be stepped on its own. */
  copy(state: FoldState): FoldState;
  /** Takes the state over; the boots' records, when they come, stand where `places` says. */
  place(state: FoldState, places: readonly BootPlace[]): FoldState;
  /** What is still known where the records that come next follow on some that are gone. The state is used up. */
  forget(state: FoldState): FoldState;
  /** How far time is known. */
  knownTime(state: FoldState): KnownTime;
  /** Takes the state over: the caller uses only the one that comes back. Facts have no seq yet: the commit gives it. */
  step(state: FoldState, record: Stored<LogRecord>): { readonly state: FoldState; readonly facts: readonly Fact[] };
  /** Puts other parameters in force without a record. Takes the state over; facts as from `step`. */
  adopt(state: FoldState, parameters: Parameters): { readonly state: FoldState; readonly facts: readonly Fact[] };
  /** The parameters now in force; null: none yet. */
  parametersIn(state: FoldState): Parameters | null;
  /** Corrected time of the record folded last. */
  timeOf(state: FoldState): EpochMs;
}
