import type { StateView } from "../../src/agent/booth.ts";
import { correctedNow, syncedOffset } from "../../src/core/derive/clock.ts";
import { counterOffsets, entriesOf, seqOfEntry } from "../../src/core/derive/entries.ts";
import type { DeriveState } from "../../src/core/derive/state.ts";
import { summaryOf } from "../../src/report/summary.ts";

/** How an agent under test looks at the fold's state: as the real one does. */
export const STATE_VIEW: StateView = {
  summaryOf: (state, now) => summaryOf(state as DeriveState, now),
  parametersIn: (state) => (state as DeriveState).parameters,
  now: (state, at) => correctedNow(state as DeriveState | undefined, at),
  syncedOffset: (state, boot) => syncedOffset(state as DeriveState, boot),
  entriesOf: (state, at) => entriesOf(state as DeriveState, correctedNow(state as DeriveState, at)),
  seqOfEntry: (state, id) => seqOfEntry(state as DeriveState, id),
  counterOffsets: (state) => counterOffsets(state as DeriveState),
};
