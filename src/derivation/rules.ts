import type { Parameters, ReportRules } from "../domain/parameters.ts";
import type { EpochMs } from "../domain/units.ts";
import type { Slice } from "./timeline/events.ts";

/** What reports depend on, as the parameter records themselves go with the log. */
export interface RulesState {
  /** By the instant they came into force; absent before the first parameters. */
  rules?: ReportRules[];
}

/** Changes kept: a few a year are usual, and a service that flaps must not grow the state. */
const MAX_CHANGES = 64;

export const rulesSlice: Slice<RulesState> = {
  parameters: ({ own, seen }, { parameters }) => noteRules(own, parameters, seen.clock.now),
};

/** They are in force from `now` on. */
export function noteRules(own: RulesState, { mode_sets, tz, working_hours }: Parameters, now: EpochMs): void {
  const rules: ReportRules = { from: now, mode_sets, tz, working_hours };
  const changes = (own.rules ??= []);
  const last = changes.at(-1);
  if (last !== undefined && JSON.stringify({ ...last, from: rules.from }) === JSON.stringify(rules)) return;
  if (last?.from === rules.from) changes.pop();
  changes.push(rules);
  if (changes.length > MAX_CHANGES) changes.shift();
}
