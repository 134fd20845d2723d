import type { Fact, LogRecord, Stored } from "../core/types/record.ts";
import type { BootId, EpochMs, Milliseconds } from "../core/types/units.ts";

/** Plain data that JSON keeps unchanged; only the fold looks inside. */
export type FoldState = unknown;

/** A fact as the fold makes it: the commit gives it seq, boot, mono and at. */
export type FactDraft = {
  [K in Fact["kind"]]: { readonly kind: K } & Pick<Extract<Fact, { kind: K }>, "value" | "quality">;
}[Fact["kind"]];

/** The fold of a booth's log, as the store needs it. */
export interface Fold {
  empty(): FoldState;
  /** Takes the state over: the caller uses only the one that comes back. */
  step(
    state: FoldState,
    record: Stored<LogRecord>,
  ): { readonly state: FoldState; readonly facts: readonly FactDraft[] };
  /** Corrected time of an instant of the boot that the state has seen last. */
  timeOf(state: FoldState, boot: BootId, mono: Milliseconds): EpochMs;
}
