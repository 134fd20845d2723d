import type { Parameters } from "../../domain/parameters.ts";
import type { Fact, LogRecord, Stored } from "../../domain/record.ts";
import type { BootPlace, KnownTime } from "../../derivation/placing.ts";
import type { Shown, TakenBack } from "../../derivation/taken-back.ts";
import type { EpochMs } from "../../domain/units.ts";

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
  /** Takes the state over; of the clock records that come those are taken back. */
  takeBack(state: FoldState, stretches: readonly TakenBack[]): FoldState;
  /** The word about the time that the state goes by; null: nobody vouched for it. */
  shownBy(state: FoldState): Shown | null;
  /** Takes the state over; what it says of a time that was wrong is put back. Where it is right it stays as it is. */
  putBack(state: FoldState, stretches: readonly TakenBack[]): FoldState;
  /** Time has stood for long enough that records may go by their age. */
  isSettled(state: FoldState): boolean;
  /** Boot and offset by which it goes, as a text. */
  clockOf(state: FoldState): string;
  /** Names the time that stands, where what was folded before it was placed by a wrong one; null: it wasn't. */
  aheadOf(state: FoldState): string | null;
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
  /** Nobody vouches yet for where the records stand in time that are folded now. */
  isUnsure(state: FoldState): boolean;
  /** Corrected time of the record folded last. */
  timeOf(state: FoldState): EpochMs;
}
