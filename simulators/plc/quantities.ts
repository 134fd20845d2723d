import { machineryOf, pressureDrop, BURNER_THERM_H } from "./model/physics.ts";
import { noise } from "./model/random.ts";
import type { FilterType } from "../../src/domain/booth.ts";
import type { Booth } from "./model/booth.ts";
import type { BoothState } from "./model/types.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

export type Quantity = number | string | boolean;

/** Time for which a reset button's coil is on after the press, and the first-scan bit after power-up. */
const RESET_PULSE_MS = 3000;
const FIRST_SCAN_MS = 10_000;
/** Time for which the door is open while parts are moved in or out. */
const DOOR_OPEN_MS = 5 * MINUTE_MS;

interface Look {
  readonly state: BoothState;
  readonly code: (state: BoothState) => number;
  readonly seed: number;
}

type Source = (look: Look) => Quantity;

function fan({ state }: Look): number {
  return machineryOf(state.mode, state.phase, state.outdoor_c).fan;
}

function burner({ state }: Look): number {
  return machineryOf(state.mode, state.phase, state.outdoor_c).gas_therm_h / BURNER_THERM_H;
}

/** Returns a sensor's reading with noise, as from a real sensor. */
function sensed(look: Look, tag: string, value: number): number {
  return value + 0.15 * noise(look.seed, tag, look.state.at);
}

function filterMinutes(type: FilterType): Source {
  return ({ state }) => {
    const filter = state.filters[type];
    return filter ? (state.totals.in_use_ms - filter.counter0_ms) / MINUTE_MS : 0;
  };
}

function resetCoil(type: FilterType): Source {
  return ({ state }) => {
    const pressed = state.filters[type]?.pressed_at ?? null;
    return pressed !== null && state.at < pressed + RESET_PULSE_MS;
  };
}

function exhaustPressure(look: Look): number {
  const filter = look.state.filters.exhaust_filter;
  if (!filter) return 0;
  const drop = pressureDrop(fan(look), filter.clean_pa, look.state.totals.spray_ms - filter.spray0_ms);
  return Math.max(0, sensed(look, "exhaust_pressure", drop));
}

function isDoorOpen({ state }: Look): boolean {
  const elapsed = state.at - state.mode_since;
  return (state.mode === "prep" || state.mode === "idle") && elapsed < DOOR_OPEN_MS;
}

/** The model's quantity for each tag name, in the tag's unit. Other tags read 0, false or "". */
const SOURCES: Readonly<Record<string, Source>> = {
  mode: ({ state, code }) => code(state),
  fault_code: ({ state }) => state.fault_code,
  cycle_count: ({ state }) => state.totals.cycles + state.offsets.cycles,
  run_minutes: ({ state }) => (state.totals.run_ms + state.offsets.run_ms) / MINUTE_MS,
  gas: ({ state }) => state.totals.gas_therm + state.offsets.gas_therm,
  energy: ({ state }) => state.totals.energy_kwh + state.offsets.energy_kwh,
  motor_starts: ({ state }) => state.totals.motor_starts + state.offsets.motor_starts,
  uptime_s: ({ state }) => (state.at - state.booted_at) / 1000,
  exhaust_minutes: filterMinutes("exhaust_filter"),
  pre_minutes: filterMinutes("pre_filter"),
  intake_minutes: filterMinutes("intake_filter"),
  air_temperature: (look) => sensed(look, "air_temperature", look.state.air_c),
  metal_temperature: (look) => sensed(look, "metal_temperature", look.state.metal_c),
  booth_pressure: (look) => {
    const does = machineryOf(look.state.mode, look.state.phase, look.state.outdoor_c);
    return sensed(look, "booth_pressure", does.booth_pa);
  },
  exhaust_pressure: exhaustPressure,
  fan_speed: (look) => (fan(look) > 0 ? fan(look) * 100 + 0.1 * noise(look.seed, "fan_speed", look.state.at) : 0),
  burner_modulation: (look) =>
    burner(look) > 0 ? burner(look) * 100 + 0.5 * noise(look.seed, "burner_modulation", look.state.at) : 0,
  outdoor_temperature: (look) => sensed(look, "outdoor_temperature", look.state.outdoor_c),
  firmware_version: ({ state }) => state.identity.firmware_version,
  plc_serial: ({ state }) => state.identity.plc_serial,
  plc_program: ({ state }) => state.identity.plc_program,
  plc_program_revision: ({ state }) => state.identity.plc_program_revision,
  burner_on: (look) => burner(look) > 0,
  fan_on: (look) => fan(look) > 0,
  door_open: isDoorOpen,
  exhaust_reset: resetCoil("exhaust_filter"),
  pre_reset: resetCoil("pre_filter"),
  intake_reset: resetCoil("intake_filter"),
  first_scan: ({ state }) => state.at < state.booted_at + FIRST_SCAN_MS,
};

/**
 * Returns the value that a tag of that name shows in the state, including a sensor's fault; undefined for an unknown
 * name. `code` returns the PLC's number for a mode.
 */
export function quantityOf(
  tag: string,
  state: BoothState,
  booth: Pick<Booth, "seed" | "stateAt"> & { readonly code: Look["code"] },
): Quantity | undefined {
  const source = SOURCES[tag];
  if (!source) return undefined;
  const sensor = state.sensors[tag];
  if (sensor?.fault.kind === "value") return sensor.fault.value;
  // A stuck sensor shows its value from the last second before the fault.
  const shown = sensor ? booth.stateAt(sensor.since - 1000) : state;
  return source({ state: shown, seed: booth.seed, code: booth.code });
}

/** Returns the bay's booth and the quantity for a tag: `mode_2` of bay 2 is the second booth's `mode`. */
function sourceOf(booth: Booth, tag: { readonly name: string; readonly bay: number }): { booth: Booth; name: string } {
  const own = booth.bays[tag.bay - 1];
  const suffix = `_${tag.bay}`;
  const name = own !== undefined && tag.name.endsWith(suffix) ? tag.name.slice(0, -suffix.length) : tag.name;
  return { booth: own ?? booth, name };
}

/** Like `quantityOf`, for the tag's bay. `state` is the whole booth's state at the instant. */
export function bayQuantityOf(
  booth: Booth,
  tag: { readonly name: string; readonly bay: number },
  { state, code }: { readonly state: BoothState; readonly code: Look["code"] },
): Quantity | undefined {
  const source = sourceOf(booth, tag);
  const own = source.booth === booth ? state : source.booth.stateAt(state.at);
  return quantityOf(source.name, own, { seed: booth.seed, stateAt: (at) => source.booth.stateAt(at), code });
}
