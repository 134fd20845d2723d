import type { Fact, LogRecord } from "../../src/domain/record.ts";
import type { Fold } from "../../src/store/facts/fold-port.ts";
import { T0 } from "./records.ts";

/** A fold that costs nothing: its state counts, and each `factEvery` records make a stage. */
export function countingFold(factEvery: number): Fold {
  interface Count {
    readonly count: number;
    readonly now: number;
    readonly boot: string;
  }
  return {
    version: 1,
    empty: () => ({ count: 0, now: 0, boot: "" }) satisfies Count,
    accepts: () => true,
    copy: (state) => structuredClone(state),
    place: (state) => state,
    forget: (state) => state,
    knownTime: (state) => state as Count,
    adopt: (state) => ({ state, facts: [] }),
    parametersIn: () => null,
    takeBack: (state) => state,
    shownBy: () => null,
    putBack: (state) => state,
    isSettled: () => true,
    clockOf: () => "",
    aheadOf: () => null,
    isUnsure: () => false,
    timeOf: (state) => (state as Count).now,
    step(state, record) {
      const { count } = state as Count;
      const next: Count = { count: count + 1, now: T0 + record.mono, boot: record.boot };
      return { state: next, facts: next.count % factEvery === 0 ? [stage(record)] : [] };
    },
  };
}

function stage({ boot, mono, at }: LogRecord): Fact {
  const span = { start: T0 + mono, end: T0 + mono + 1, end_reason: "changed", is_new_start: true } as const;
  const value = { bay: 0, mode: "spray", ...span, uncertain_ms: 0, uncertainty_ms: 0, raw: "3" } as const;
  return { kind: "m", boot, mono, at, tag: "", value, quality: "good" };
}
