import type { Parameters, ReportRules } from "../domain/parameters.ts";
import { prepareChecks } from "./checks.ts";
import { fitFilters } from "./filters.ts";
import type { BayState, DeriveState, Fold } from "./state.ts";

/** Puts parameters in force from the present instant on. Time already settled keeps the rules that held then. */
export function applyParameters(fold: Fold, parameters: Parameters): void {
  const { state } = fold;
  state.parameters = parameters;
  noteRules(state, parameters);
  const modes = Object.entries(parameters.tags).filter(([, { role }]) => role === "mode");
  state.bays = modes.map(([tag, { bay, group }]) => {
    const number = modes.length === 1 ? 0 : bay;
    const known = state.bays.find((candidate) => candidate.bay === number);
    if (known !== undefined) return Object.assign(known, { tag, group });
    return newBay(number, tag, group);
  });
  if (state.bays.length > 1) state.booth ??= { open: null, settled: 0 };
  else state.booth = null;
  // A new mode map may give the code that holds another mode; one that was read at this very instant is the newer one.
  for (const { tag, raw, live } of state.bays) {
    const is_read = state.pending.some((reading) => reading.tag === tag);
    if (live && raw !== null && !is_read) state.pending.push({ tag, value: raw, quality: "good" });
  }
  fitFilters(fold, parameters);
  prepareChecks(fold, parameters);
}

function newBay(bay: number, tag: string, group: string): BayState {
  return {
    bay,
    tag,
    group,
    raw: null,
    live: false,
    good_until: 0,
    good_boot: "",
    good_mono: 0,
    gap: null,
    resume: null,
    restart: null,
    inferred: null,
    closed: [],
    open: null,
    settled: 0,
    run: null,
    cycle: null,
    slices: [],
  };
}

/** Changes kept: a few a year are usual, and a service that flaps must not grow the state. */
const MAX_CHANGES = 64;

/** Remembers the rules of reports with their instant, as the parameter records themselves go with the log. */
export function noteRules(state: DeriveState, { mode_sets, tz, working_hours }: Parameters): void {
  const rules: ReportRules = { from: state.clock.now, mode_sets, tz, working_hours };
  const changes = (state.rules ??= []);
  const last = changes.at(-1);
  if (last !== undefined && JSON.stringify({ ...last, from: rules.from }) === JSON.stringify(rules)) return;
  if (last?.from === rules.from) changes.pop();
  changes.push(rules);
  if (changes.length > MAX_CHANGES) changes.shift();
}
