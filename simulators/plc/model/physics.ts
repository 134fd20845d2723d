import type { Mode } from "../../../src/domain/booth.ts";
import type { BoothState, Rules } from "./types.ts";
import { HOUR_MS } from "../../../src/domain/time.ts";

/** The simulated booth: 24 x 13.5 x 9 ft, two 10 hp fans on drives, burner of 1.0 million BTU/h. */
const AIRFLOW_CFM = 12_000;
export const BURNER_THERM_H = 10;
const BURNER_TURNDOWN = 25;
/** Share of the gas's heat that reaches the air stream: 2.8 therm/h at a rise of 20 F. */
const BURNER_EFFICIENCY = 0.925;
const SPRAY_AIR_C = 21;
const BAKE_AIR_C = 71;
const METAL_TAU_S = 900;
/** Rise of a filter's pressure drop per minute of spray, relative to clean. */
const LOADING_PER_SPRAY_MINUTE = 0.0018;

/** The state of the machinery in a mode. */
interface Machinery {
  /** 0..1 of full speed. */
  readonly fan: number;
  readonly power_kw: number;
  readonly gas_therm_h: number;
  readonly air_target_c: number;
  readonly air_tau_s: number;
  readonly booth_pa: number;
}

/** Returns the gas to heat the fresh air. The burner can't go below its turndown. */
function freshAirGas(outdoor_c: number, target_c: number): number {
  const rise_f = (target_c - outdoor_c) * 1.8;
  if (rise_f <= 0) return 0;
  const therm_h = (1.08 * AIRFLOW_CFM * rise_f) / 100_000 / BURNER_EFFICIENCY;
  return Math.min(BURNER_THERM_H, Math.max(BURNER_THERM_H / BURNER_TURNDOWN, therm_h));
}

function standing(outdoor_c: number, power_kw: number): Machinery {
  const air_target_c = Math.max(18, outdoor_c - 2);
  return { fan: 0, power_kw, gas_therm_h: 0, air_target_c, air_tau_s: 1800, booth_pa: 0 };
}

/**
 * Returns the machinery's state. Fan power grows with the cube of speed, plus 3 kW of light: 16 kW spray, 9 kW bake, 5
 * kW setback.
 */
export function machineryOf(mode: Mode, phase: "ramp" | "soak" | null, outdoor_c: number): Machinery {
  switch (mode) {
    case "prep":
    case "spray":
    case "flash":
    case "purge": {
      const air_target_c = Math.max(SPRAY_AIR_C, outdoor_c + 1);
      const gas_therm_h = freshAirGas(outdoor_c, SPRAY_AIR_C);
      return { fan: 1, power_kw: 16, gas_therm_h, air_target_c, air_tau_s: 90, booth_pa: 9 };
    }
    case "bake": {
      const gas_therm_h = phase === "soak" ? 1.9 : 8;
      return { fan: 0.77, power_kw: 9, gas_therm_h, air_target_c: BAKE_AIR_C, air_tau_s: 240, booth_pa: 6 };
    }
    case "cool_down":
      return { fan: 0.77, power_kw: 9, gas_therm_h: 0, air_target_c: outdoor_c + 4, air_tau_s: 240, booth_pa: 6 };
    case "setback": {
      const gas_therm_h = outdoor_c < 15 ? BURNER_THERM_H / BURNER_TURNDOWN : 0;
      const air_target_c = Math.max(15, outdoor_c);
      return { fan: 0.54, power_kw: 5, gas_therm_h, air_target_c, air_tau_s: 240, booth_pa: 5 };
    }
    case "idle":
    case "maintenance":
    case "fault":
    case "estop":
    case "unknown":
      return standing(outdoor_c, 0.5);
    case "off":
      return standing(outdoor_c, 0.05);
    case "no_data":
      return standing(outdoor_c, 0);
  }
}

/**
 * Returns the booth at `at` >= state.at if nothing happens in between. Every quantity has a closed form, so a jump of
 * hours and many small steps from the same state give exactly the same result.
 */
export function coast(state: BoothState, at: number, rules: Rules): BoothState {
  const dt = at - state.at;
  if (dt <= 0) return state;
  const does = machineryOf(state.mode, state.phase, state.outdoor_c);
  const during = (set: readonly Mode[]): number => (set.includes(state.mode) ? dt : 0);
  const air0 = state.air_c - does.air_target_c;
  const airDecay = Math.exp(-dt / 1000 / does.air_tau_s);
  const metalDecay = Math.exp(-dt / 1000 / METAL_TAU_S);
  // The metal's temperature follows the air's, both first order: the part that decays with the air's time constant, and
  // the rest.
  const follows = (air0 * does.air_tau_s) / (does.air_tau_s - METAL_TAU_S);
  const metal0 = state.metal_c - does.air_target_c;
  return {
    ...state,
    at,
    air_c: does.air_target_c + air0 * airDecay,
    metal_c: does.air_target_c + follows * airDecay + (metal0 - follows) * metalDecay,
    totals: {
      ...state.totals,
      run_ms: state.totals.run_ms + during(rules.mode_sets.run),
      in_use_ms: state.totals.in_use_ms + during(rules.mode_sets.in_use),
      spray_ms: state.totals.spray_ms + during(["spray"]),
      gas_therm: state.totals.gas_therm + (does.gas_therm_h * dt) / HOUR_MS,
      energy_kwh: state.totals.energy_kwh + (does.power_kw * dt) / HOUR_MS,
    },
  };
}

/** Returns the pressure drop over a filter in Pa: clean x speed squared x loading by spray. */
export function pressureDrop(fan: number, clean_pa: number, spray_ms: number): number {
  return clean_pa * fan ** 2 * (1 + (LOADING_PER_SPRAY_MINUTE * spray_ms) / 60_000);
}
