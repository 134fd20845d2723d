import { knownTime, placeBoots } from "../core/derive/clock.ts";
import { adoptParameters, forgetModes, step } from "../core/derive/fold.ts";
import { emptyState, STATE_VERSION, type DeriveState } from "../core/derive/state.ts";
import { DERIVATION_VERSION } from "../core/derive/version.ts";
import type { Fold } from "./fold-port.ts";

/** core's derivation as the store's fold. States come from `empty`, from `step`, or from JSON that `step` once made. */
export const deriveFold: Fold = {
  version: DERIVATION_VERSION,
  empty: emptyState,
  accepts: (state) => (state as Partial<DeriveState> | null)?.version === STATE_VERSION,
  copy: (state) => JSON.parse(JSON.stringify(state)) as DeriveState,
  place: (state, places) => placeBoots(state as DeriveState, places),
  forget: (state) => forgetModes(state as DeriveState),
  knownTime: (state) => knownTime(state as DeriveState),
  step: (state, record) => step(state as DeriveState, record),
  adopt: (state, parameters) => adoptParameters(state as DeriveState, parameters),
  parametersIn: (state) => (state as DeriveState).parameters,
  timeOf: (state) => (state as DeriveState).clock.now,
};
