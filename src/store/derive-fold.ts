import { step } from "../core/derive/fold.ts";
import { emptyState, type DeriveState } from "../core/derive/state.ts";
import { DERIVATION_VERSION } from "../core/derive/version.ts";
import type { Fold } from "./fold-port.ts";

/** core's derivation as the store's fold. States come from `empty`, from `step`, or from JSON that `step` once made. */
export const deriveFold: Fold = {
  version: DERIVATION_VERSION,
  empty: emptyState,
  step: (state, record) => step(state as DeriveState, record),
  parametersIn: (state) => (state as DeriveState).parameters,
  timeOf: (state) => (state as DeriveState).clock.now,
};
