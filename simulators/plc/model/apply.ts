import { afterStage, type RunStep, settle } from "./cycles.ts";
import { pressReset } from "./filters.ts";
import { machineryOf } from "./physics.ts";
import type { FilterType, Mode } from "../../../src/domain/booth.ts";
import type { Action, BoothState, Integrals, Rules, TruthEvent } from "./types.ts";

/** The state after an action, and the entries that record it. */
interface Applied {
  readonly state: BoothState;
  readonly events: readonly TruthEvent[];
}

const unchanged = (state: BoothState): Applied => ({ state, events: [] });

/** Applies a step of the run: a counted cycle increases the PLC's counter at this instant. */
function withRun(state: BoothState, step: RunStep): Applied {
  const { closed } = step;
  if (!closed) return { state: { ...state, run: step.run }, events: [] };
  const cycles = state.totals.cycles + (closed.counted ? 1 : 0);
  const next = { ...state, run: step.run, totals: { ...state.totals, cycles } };
  return { state: next, events: [{ at: state.at, kind: "cycle", ...closed }] };
}

interface NewMode {
  readonly mode: Mode;
  readonly phase: "ramp" | "soak" | null;
  readonly fault_code: number;
}

function changeMode(state: BoothState, to: NewMode, rules: Rules): Applied {
  const before = machineryOf(state.mode, state.phase, state.outdoor_c);
  const after = machineryOf(to.mode, to.phase, state.outdoor_c);
  const starts = before.fan === 0 && after.fan > 0 ? 1 : 0;
  const totals = { ...state.totals, motor_starts: state.totals.motor_starts + starts };
  const moved: BoothState = { ...state, mode: to.mode, phase: to.phase, fault_code: to.fault_code, totals };
  if (to.mode === state.mode) return unchanged(moved);
  const change = { at: state.at, from: state.mode, from_since: state.mode_since, to: to.mode };
  const ran = withRun(
    { ...moved, mode_since: state.at },
    afterStage(state.run, { ...change, run_set: rules.mode_sets.run }),
  );
  return { state: ran.state, events: [...ran.events, { at: state.at, kind: "stage", mode: to.mode }] };
}

function press(state: BoothState, filter: FilterType): Applied {
  const old = state.filters[filter];
  if (!old || !state.powered) return unchanged(state);
  const pressed = pressReset(state, old);
  const next = { ...state, filters: { ...state.filters, [filter]: pressed.filter } };
  if (!pressed.removed) return unchanged(next);
  return { state: next, events: [{ at: state.at, kind: "filter_change", filter, ...pressed.removed }] };
}

function negated(totals: Integrals): Integrals {
  return {
    run_ms: -totals.run_ms,
    in_use_ms: -totals.in_use_ms,
    spray_ms: -totals.spray_ms,
    gas_therm: -totals.gas_therm,
    energy_kwh: -totals.energy_kwh,
    cycles: -totals.cycles,
    motor_starts: -totals.motor_starts,
  };
}

/**
 * Simulates a PLC that loses its memory: every counter shows 0, also those of the filters, although no filter was
 * changed.
 */
function withLostCounters(state: BoothState): BoothState {
  const filters = Object.fromEntries(
    Object.entries(state.filters).map(([type, f]) => [type, { ...f, counter0_ms: state.totals.in_use_ms }]),
  );
  return { ...state, offsets: negated(state.totals), filters };
}

function power(state: BoothState, action: Extract<Action, { kind: "power_off" | "power_on" }>, rules: Rules): Applied {
  const on = action.kind === "power_on";
  if (on === state.powered) return unchanged(state);
  const lost = action.kind === "power_on" && action.counters === "lost";
  const base = lost ? withLostCounters(state) : state;
  const next = { ...base, powered: on, booted_at: on ? state.at : state.booted_at };
  const changed = changeMode(next, { mode: on ? "off" : "no_data", phase: null, fault_code: 0 }, rules);
  return { state: changed.state, events: [...changed.events, { at: state.at, kind: "power", on }] };
}

function identify(state: BoothState, action: Extract<Action, { kind: "identity" }>): Applied {
  const identity = { ...state.identity, ...action.identity };
  const event: TruthEvent = { at: state.at, kind: "revision", initial: false, ...identity };
  return { state: { ...state, identity }, events: [event] };
}

function overuse(state: BoothState, filter: FilterType): Applied {
  const old = state.filters[filter];
  if (!old) return unchanged(state);
  const filters = { ...state.filters, [filter]: { ...old, overuse_since: state.at } };
  return { state: { ...state, filters }, events: [{ at: state.at, kind: "overuse", filter }] };
}

function sensor(state: BoothState, action: Extract<Action, { kind: "sensor" }>): Applied {
  const others = Object.fromEntries(Object.entries(state.sensors).filter(([tag]) => tag !== action.tag));
  const own = action.fault ? { [action.tag]: { fault: action.fault, since: state.at } } : {};
  return unchanged({ ...state, sensors: { ...others, ...own } });
}

/** Applies `action` to a booth whose state is at the action's instant. A PLC without power ignores the story. */
export function applyAction(state: BoothState, action: Action, rules: Rules): Applied {
  switch (action.kind) {
    case "mode":
      return state.powered ? changeMode(state, action, rules) : unchanged(state);
    case "press":
      return press(state, action.filter);
    case "power_off":
    case "power_on":
      return power(state, action, rules);
    case "cable": {
      const event: TruthEvent = { at: state.at, kind: "cable", on: action.connected };
      return { state: { ...state, cable: action.connected }, events: [event] };
    }
    case "identity":
      return identify(state, action);
    case "sensor":
      return sensor(state, action);
    case "settle":
      return withRun(state, settle(state.run));
    case "overuse":
      return overuse(state, action.filter);
  }
}
