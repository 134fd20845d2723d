import type { StateView } from "./booth.ts";
import { correctedNow, endOf, reachedTime, syncedOffset } from "../derivation/clock.ts";
import { counterOffsets, entriesOf, seqOfEntry } from "../derivation/entries.ts";
import type { DeriveState } from "../derivation/state.ts";
import { summaryOf } from "../reports/summary.ts";

/** How the agent, which knows nothing of the fold, looks at the state that the fold keeps. */
export const STATE_VIEW: StateView = {
  summaryOf: (state, now) => summaryOf(state as DeriveState, now),
  parametersIn: (state) => (state as DeriveState).parameters,
  now: (state, at) => correctedNow(state as DeriveState | undefined, at),
  syncedOffset: (state, boot) => syncedOffset(state as DeriveState, boot),
  reached: (state) => reachedTime(state as DeriveState),
  endOf: (state) => endOf(state as DeriveState),
  entriesOf: (state, at) => entriesOf(state as DeriveState, correctedNow(state as DeriveState, at)),
  seqOfEntry: (state, id) => seqOfEntry(state as DeriveState, id),
  counterOffsets: (state) => counterOffsets(state as DeriveState),
};
