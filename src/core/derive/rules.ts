import type { Parameters, ReportRules } from "../types/parameters.ts";
import type { DeriveState } from "./state.ts";

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
