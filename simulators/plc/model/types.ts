import type { FilterLimits, FilterType, Mode, ModeSets, ProfileMode } from "../../../src/domain/booth.ts";

/** The mode sets of the usual PLC program. */
export const USUAL_MODE_SETS: ModeSets = {
  in_use: ["spray", "flash", "purge", "bake"],
  run: ["spray", "flash", "purge", "bake", "cool_down"],
  runtime: ["spray", "flash", "purge", "bake", "cool_down"],
};

/** The identity of a PLC and its program. */
export interface Identity {
  readonly firmware_version: string;
  readonly plc_serial: string;
  readonly plc_program: string;
  readonly plc_program_revision: string;
}

/** A sensor's fault: a fixed wrong value (possibly NaN), or frozen at its last value. */
type SensorFault = { readonly kind: "value"; readonly value: number } | { readonly kind: "stuck" };

/** An action at one instant. */
export type Action =
  | {
      readonly kind: "mode";
      readonly mode: ProfileMode;
      readonly phase: "ramp" | "soak" | null;
      readonly fault_code: number;
    }
  /** The reset button of a filter: a new filter was installed. */
  | { readonly kind: "press"; readonly filter: FilterType }
  /** The PLC loses power and comes back in mode off. `lost`: every counter starts from 0 again. */
  | { readonly kind: "power_off" }
  | { readonly kind: "power_on"; readonly counters: "retained" | "lost" }
  | { readonly kind: "cable"; readonly connected: boolean }
  | { readonly kind: "identity"; readonly identity: Partial<Identity> }
  | { readonly kind: "sensor"; readonly tag: string; readonly fault: SensorFault | null }
  /** Made by the model: the run ended, 120 s after its last stage. */
  | { readonly kind: "settle" }
  /** Made by the model: a filter reached a limit. */
  | { readonly kind: "overuse"; readonly filter: FilterType };

export interface TimedAction {
  /** Epoch ms, an integer. */
  readonly at: number;
  readonly action: Action;
}

/** A fitted filter. `*0` are the booth's integrals at its installation, so usage = integral - origin. */
export interface FilterState {
  readonly installed_at: number;
  readonly in_use0_ms: number;
  readonly spray0_ms: number;
  readonly cycles0: number;
  /** The booth's in_use integral at which the PLC's own minute counter was 0. */
  readonly counter0_ms: number;
  readonly pressed_at: number | null;
  readonly overuse_since: number | null;
  /** Clean pressure drop at full fan speed, Pa. */
  readonly clean_pa: number;
}

/** Totals since the story's origin, which are never reset. */
export interface Integrals {
  readonly run_ms: number;
  readonly in_use_ms: number;
  readonly spray_ms: number;
  readonly gas_therm: number;
  readonly energy_kwh: number;
  /** Counted cycles (complete, complete_no_bake), counted when the PLC knows their result. */
  readonly cycles: number;
  /** Starts of the supply fan; the exhaust fan follows it on the same contactor. */
  readonly motor_starts: number;
}

export interface OpenCycle {
  readonly start: number;
  readonly spray_ms: number;
  readonly bake_ms: number;
}

/** The state of the run and its cycle. `rest_since`: end of the last run stage; the run may still continue. */
export interface RunState {
  readonly in_run: boolean;
  readonly rest_since: number | null;
  readonly open: OpenCycle | null;
}

/** The whole booth at `at` as plain data. */
export interface BoothState {
  readonly at: number;
  /** no_data while the PLC is without power. */
  readonly mode: Mode;
  readonly phase: "ramp" | "soak" | null;
  /** Start of the stage. */
  readonly mode_since: number;
  readonly fault_code: number;
  readonly powered: boolean;
  readonly booted_at: number;
  readonly cable: boolean;
  readonly identity: Identity;
  readonly outdoor_c: number;
  readonly air_c: number;
  readonly metal_c: number;
  readonly totals: Integrals;
  /** PLC counter = total + offset. */
  readonly offsets: Integrals;
  readonly filters: Readonly<Partial<Record<FilterType, FilterState>>>;
  readonly run: RunState;
  readonly sensors: Readonly<Record<string, { readonly fault: SensorFault; readonly since: number }>>;
}

/** Rules that the booth's owner sets. */
export interface Rules {
  readonly mode_sets: ModeSets;
  readonly limits: Readonly<Partial<Record<FilterType, FilterLimits>>>;
}

export type CycleResult = "complete" | "complete_no_bake" | "short_bake" | "aborted";

export interface CycleTruth {
  readonly start: number;
  readonly end: number;
  readonly result: CycleResult;
  readonly reason: string;
  readonly counted: boolean;
  readonly spray_ms: number;
  readonly bake_ms: number;
}

/** A filter's time in the booth, at its removal. */
export interface FilterTruth {
  readonly installed_at: number;
  readonly removed: number | null;
  /** In-use minutes. */
  readonly minutes: number;
  readonly spray_minutes: number;
  readonly overuse_since: number | null;
}

/** A true event. `at` is the instant at which it became certain. */
export type TruthEvent =
  | { readonly at: number; readonly kind: "stage"; readonly mode: Mode }
  | ({ readonly at: number; readonly kind: "cycle" } & CycleTruth)
  | ({ readonly at: number; readonly kind: "filter_change"; readonly filter: FilterType } & FilterTruth)
  | { readonly at: number; readonly kind: "overuse"; readonly filter: FilterType }
  | ({ readonly at: number; readonly kind: "revision"; readonly initial: boolean } & Identity)
  | { readonly at: number; readonly kind: "power"; readonly on: boolean }
  | { readonly at: number; readonly kind: "cable"; readonly on: boolean };

/** An action and the booth's state after it. */
export interface Entry {
  readonly at: number;
  readonly action: Action | null;
  readonly state: BoothState;
  readonly events: readonly TruthEvent[];
}
