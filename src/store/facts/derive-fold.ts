import {
  aheadOf,
  clockText,
  isSettled,
  knownTime,
  placeBoots,
  rightOffset,
  shownBy,
  takeBack,
} from "../../derivation/clock.ts";
import { adoptParameters, forgetModes, step } from "../../derivation/fold.ts";
import { putBack } from "../../derivation/put-back.ts";
import { emptyState, STATE_VERSION, type DeriveState } from "../../derivation/state.ts";
import { DERIVATION_VERSION } from "../../domain/derivation-version.ts";
import type { Fold } from "./fold-port.ts";

/** core's derivation as the store's fold. States come from `empty`, from `step`, or from JSON that `step` once made. */
export const deriveFold: Fold = {
  version: DERIVATION_VERSION,
  empty: emptyState,
  accepts: (state) => (state as Partial<DeriveState> | null)?.version === STATE_VERSION,
  copy: (state) => JSON.parse(JSON.stringify(state)) as DeriveState,
  place: (state, places) => placeBoots(state as DeriveState, places),
  takeBack: (state, stretches) => takeBack(state as DeriveState, stretches),
  shownBy: (state) => shownBy(state as DeriveState),
  putBack: (state, stretches) => putBack(state as DeriveState, rightOffset(state as DeriveState, stretches)),
  isSettled: (state) => isSettled(state as DeriveState),
  clockOf: (state) => clockText(state as DeriveState),
  aheadOf: (state) => aheadOf(state as DeriveState),
  forget: (state) => forgetModes(state as DeriveState),
  knownTime: (state) => knownTime(state as DeriveState),
  step: (state, record) => step(state as DeriveState, record),
  adopt: (state, parameters) => adoptParameters(state as DeriveState, parameters),
  parametersIn: (state) => (state as DeriveState).parameters,
  isUnsure: (state) => (state as DeriveState).clock.unsure,
  timeOf: (state) => (state as DeriveState).clock.now,
};
