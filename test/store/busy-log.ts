import { emptyState, type DeriveState } from "../../src/derivation/state.ts";
import type { Fact, LogRecord } from "../../src/domain/record.ts";
import type { Fold } from "../../src/store/facts/fold.ts";
import { T0 } from "../support/records.ts";

/** A state that also counts the records that were folded into it. */
export interface CountingState extends DeriveState {
  readonly count: number;
}

/** A fast fold: its state counts records, and each `factEvery` records make a stage. */
export function countingFold(factEvery: number): Fold {
  return {
    version: 1,
    step(state, record) {
      const { count = 0 } = state as Partial<CountingState>;
      const { boot, mono, seq } = record;
      const clock = { ...emptyState().clock, boot, mono, now: T0 + mono, offset: T0 };
      const next: CountingState = { ...emptyState(), seq, clock, count: count + 1 };
      return { state: next, facts: next.count % factEvery === 0 ? [stage(record)] : [] };
    },
  };
}

function stage({ boot, mono, at }: LogRecord): Fact {
  const span = { start: T0 + mono, end: T0 + mono + 1, end_reason: "changed", is_new_start: true } as const;
  const value = { bay: 0, mode: "spray", ...span, uncertain_ms: 0, uncertainty_ms: 0, raw: "3" } as const;
  return { kind: "m", boot, mono, at, tag: "", value, quality: "good" };
}
