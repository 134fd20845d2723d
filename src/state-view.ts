import type { StateView } from "./agent/booth.ts";
import { correctedNow, endOf, syncedOffset } from "./core/derive/clock.ts";
import { counterOffsets, entriesOf, seqOfEntry } from "./core/derive/entries.ts";
import type { DeriveState } from "./core/derive/state.ts";
import { summaryOf } from "./report/summary.ts";

/** How the agent, which knows nothing of the fold, looks at the state that the fold keeps. */
export const STATE_VIEW: StateView = {
  summaryOf: (state, now) => summaryOf(state as DeriveState, now),
  parametersIn: (state) => (state as DeriveState).parameters,
  now: (state, at) => correctedNow(state as DeriveState | undefined, at),
  syncedOffset: (state, boot) => syncedOffset(state as DeriveState, boot),
  endOf: (state) => endOf(state as DeriveState),
  entriesOf: (state, at) => entriesOf(state as DeriveState, correctedNow(state as DeriveState, at)),
  seqOfEntry: (state, id) => seqOfEntry(state as DeriveState, id),
  counterOffsets: (state) => counterOffsets(state as DeriveState),
};
