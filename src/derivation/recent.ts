import type { Mode } from "../domain/booth.ts";
import type { EpochMs, Milliseconds } from "../domain/units.ts";
import type { DeriveState, Slice } from "./state.ts";

/** Technicians' entries may tell of an instant this long ago, and counts of a local day are asked for. */
const KEPT_MS: Milliseconds = 36 * 3_600_000;
/** A booth changes its mode some 200 times a day; a flapping one must not grow the state. */
const MAX_ITEMS = 600;

/** Keeps settled time of the last day and a half. */
export function remember(state: DeriveState, slice: Slice): void {
  const { slices } = state.recent;
  const last = slices.at(-1);
  if (last?.to === slice.from && last.mode === slice.mode && last.inferred === slice.inferred) last.to = slice.to;
  else slices.push({ ...slice });
  while (slices.length > MAX_ITEMS || (slices[0] !== undefined && slices[0].to < slice.to - KEPT_MS)) slices.shift();
}

export function rememberEnd(state: DeriveState, end: EpochMs): void {
  const { ends } = state.recent;
  ends.push(end);
  while (ends.length > MAX_ITEMS || (ends[0] !== undefined && ends[0] < end - KEPT_MS)) ends.shift();
}

export function rememberIncrement(state: DeriveState, at: EpochMs, steps: number): void {
  const { increments } = state.recent;
  increments.push([at, steps]);
  while (increments.length > MAX_ITEMS || (increments[0] !== undefined && increments[0][0] < at - KEPT_MS)) {
    increments.shift();
  }
}

/** Settled time in the modes since `since`, as far as it is remembered. */
export function recentMs(state: DeriveState, modes: readonly Mode[], since: EpochMs): Milliseconds {
  let sum = 0;
  for (const { mode, from, to } of state.recent.slices) {
    if (to > since && modes.includes(mode)) sum += to - Math.max(from, since);
  }
  return sum;
}
