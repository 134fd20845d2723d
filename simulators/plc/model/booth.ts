import { FILTER_TYPES, type FilterLimits, type FilterType, type ModeSets } from "../../../src/domain/booth.ts";
import { applyAction } from "./apply.ts";
import { staggered, unitedTruth } from "./bays.ts";
import { NO_RUN, settlesAt } from "./cycles.ts";
import { nextOveruse, usedFilter } from "./filters.ts";
import { coast } from "./physics.ts";
import { uniform } from "./random.ts";
import { scheduleOf, storyOrigin } from "./schedule.ts";
import { type Truth, truthOf } from "./truth.ts";
import {
  type Action,
  type BoothState,
  type Entry,
  type Identity,
  type Integrals,
  type Rules,
  type TimedAction,
  USUAL_MODE_SETS,
} from "./types.ts";
import type { Scenario } from "./scenario.ts";

interface BoothOptions {
  readonly scenario: Scenario;
  readonly seed: number;
  /** Epoch ms: start of a story told once; for a daily story, any instant of its first local day. */
  readonly start: number;
  /** The fitted filters and their limits. Default: the usual three. */
  readonly limits?: Readonly<Partial<Record<FilterType, FilterLimits>>>;
  readonly mode_sets?: ModeSets;
  /** The PLC's identity, which overrides the scenario's and the default. */
  readonly identity?: Partial<Identity>;
}

/** A booth and its whole story, past and future. Any instant can be queried in any order at the same cost. */
export interface Booth {
  /** The bays of a booth with several, in order; empty: the booth is a single bay. */
  readonly bays: readonly Booth[];
  readonly scenario: Scenario;
  readonly seed: number;
  readonly rules: Rules;
  /** Start of the story. Before it the booth is off. */
  readonly origin: number;
  stateAt(at: number): BoothState;
  /** Returns the next instant after `at` at which something happens; Infinity at the story's end. */
  nextChange(at: number): number;
  /** Returns everything that happens in (after, upTo], oldest first. The first entry of the story is at `origin`. */
  entries(after: number, upTo: number): readonly Entry[];
  /** Presses a filter's reset button at `at` and recomputes the story after that instant. */
  press(filter: FilterType, at: number): void;
  /** Adds any other action, like `press`. */
  inject(action: Action, at: number): void;
  /** Returns the truth over [from, to), in integer epoch ms. */
  truth(from: number, to: number): Truth;
}

export const USUAL_LIMITS: Readonly<Record<FilterType, FilterLimits>> = {
  intake_filter: { minutes: 60_000 },
  pre_filter: { minutes: 18_000 },
  exhaust_filter: { minutes: 6000 },
};

const USUAL_IDENTITY: Identity = {
  firmware_version: "3.41",
  plc_serial: "ABCD-123-123",
  plc_program: "BOOTH-24",
  plc_program_revision: "14C",
};
const USUAL_FILTER_MINUTES: Readonly<Record<FilterType, number>> = {
  intake_filter: 21_000,
  pre_filter: 7400,
  exhaust_filter: 2600,
};
const NOTHING: Integrals = {
  run_ms: 0,
  in_use_ms: 0,
  spray_ms: 0,
  gas_therm: 0,
  energy_kwh: 0,
  cycles: 0,
  motor_starts: 0,
};
const USUAL_COUNTERS: Integrals = {
  ...NOTHING,
  run_ms: 9_843_210_000,
  gas_therm: 8612.44,
  energy_kwh: 39_402.7,
  cycles: 1842,
  motor_starts: 4310,
};

function firstState(options: BoothOptions, origin: number, rules: Rules): BoothState {
  const { scenario, seed } = options;
  const fitted = FILTER_TYPES.filter((type) => rules.limits[type] !== undefined);
  const minutes = { ...USUAL_FILTER_MINUTES, ...scenario.filter_minutes };
  return {
    at: origin,
    mode: "off",
    phase: null,
    mode_since: origin,
    fault_code: 0,
    powered: true,
    booted_at: origin - 86_400_000 - Math.floor(uniform(seed, "boot") * 20 * 86_400_000),
    cable: true,
    identity: { ...USUAL_IDENTITY, ...scenario.identity, ...options.identity },
    outdoor_c: scenario.outdoor_c,
    air_c: Math.max(18, scenario.outdoor_c - 2),
    metal_c: Math.max(18, scenario.outdoor_c - 2),
    totals: NOTHING,
    offsets: { ...USUAL_COUNTERS, ...scenario.counters },
    filters: Object.fromEntries(fitted.map((type) => [type, usedFilter(type, minutes[type], origin)])),
    run: NO_RUN,
    sensors: {},
  };
}

/** Returns the next action that follows from the state alone. */
function ownAction(state: BoothState, rules: Rules): TimedAction | null {
  const settles = settlesAt(state.run);
  const overuse = nextOveruse(state, rules);
  if (settles <= overuse.at && settles < Infinity) return { at: settles, action: { kind: "settle" } };
  return overuse.filter ? { at: overuse.at, action: { kind: "overuse", filter: overuse.filter } } : null;
}

/** Returns the index of the last item at or before `at`; -1 if there is none. */
function lastAtOrBefore(items: readonly { readonly at: number }[], at: number): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((items[middle]?.at ?? Infinity) <= at) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Computes the story entry by entry, as far as it is needed. */
function storyTeller(options: BoothOptions, origin: number, rules: Rules) {
  const drawn: TimedAction[] = [];
  const schedule = scheduleOf(options.scenario, options.seed, options.start);
  const first = firstState(options, origin, rules);
  const told: Entry[] = [
    {
      at: origin,
      action: null,
      state: first,
      events: [
        { at: origin, kind: "stage", mode: first.mode },
        { at: origin, kind: "revision", initial: true, ...first.identity },
      ],
    },
  ];
  let cursor = 0;

  const newest = (): Entry => {
    const entry = told.at(-1);
    if (!entry) throw new Error("a story has a first entry");
    return entry;
  };
  const scheduled = (): TimedAction | undefined => {
    if (cursor === drawn.length) {
      const next = schedule.next();
      if (!next.done) drawn.push(next.value);
    }
    return drawn[cursor];
  };
  const upcoming = (): { readonly timed: TimedAction; readonly own: boolean } | null => {
    const own = ownAction(newest().state, rules);
    const next = scheduled();
    if (own && (!next || own.at <= next.at)) return { timed: own, own: true };
    return next ? { timed: next, own: false } : null;
  };
  const tellUpTo = (at: number): void => {
    for (let next = upcoming(); next && next.timed.at <= at; next = upcoming()) {
      const { timed } = next;
      if (!next.own) cursor++;
      const applied = applyAction(coast(newest().state, timed.at, rules), timed.action, rules);
      told.push({ ...timed, ...applied });
    }
  };
  const insert = (action: Action, at: number): void => {
    tellUpTo(at);
    told.length = lastAtOrBefore(told, at) + 1;
    cursor = lastAtOrBefore(drawn, at) + 1;
    drawn.splice(cursor, 0, { at, action });
    tellUpTo(at);
  };
  return { told, tellUpTo, insert, upcoming };
}

/** Creates a booth that plays `scenario`. The same options give exactly the same story. */
export function createBooth(options: BoothOptions): Booth {
  const { second_bay_minutes } = options.scenario;
  const first = createBay(options);
  if (second_bay_minutes === undefined) return first;
  const story = staggered(options.scenario, second_bay_minutes);
  // Another seed, so that changes of the two bays never coincide.
  const bays = [first, createBay({ ...options, scenario: story, seed: options.seed + 1 })];
  return {
    ...first,
    bays,
    nextChange: (at) => Math.min(...bays.map((bay) => bay.nextChange(at))),
    truth: (from, to) =>
      unitedTruth(
        bays.map((bay) => bay.truth(from, to)),
        first.rules.mode_sets,
      ),
  };
}

function createBay(options: BoothOptions): Booth {
  const origin = storyOrigin(options.scenario, options.start);
  const rules: Rules = {
    mode_sets: options.mode_sets ?? USUAL_MODE_SETS,
    limits: options.limits ?? USUAL_LIMITS,
  };
  const teller = storyTeller(options, origin, rules);
  const entries = (after: number, upTo: number): readonly Entry[] => {
    teller.tellUpTo(upTo);
    return teller.told.slice(lastAtOrBefore(teller.told, after) + 1, lastAtOrBefore(teller.told, upTo) + 1);
  };
  const stateAt = (at: number): BoothState => {
    teller.tellUpTo(at);
    const base = teller.told[Math.max(0, lastAtOrBefore(teller.told, at))];
    if (!base) throw new Error("a story has a first entry");
    return coast(base.state, at, rules);
  };
  const inject = (action: Action, at: number): void => {
    teller.insert(action, Math.max(origin, Math.ceil(at)));
  };
  return {
    scenario: options.scenario,
    seed: options.seed,
    rules,
    origin,
    bays: [],
    stateAt,
    entries,
    inject,
    nextChange: (at) => {
      teller.tellUpTo(at);
      const known = teller.told[lastAtOrBefore(teller.told, at) + 1];
      return known?.at ?? teller.upcoming()?.timed.at ?? Infinity;
    },
    press: (filter, at) => inject({ kind: "press", filter }, at),
    truth: (from, to) =>
      truthOf({ entriesUpTo: (at) => entries(-Infinity, Math.max(at, origin)), stateAt, rules }, from, to),
  };
}
