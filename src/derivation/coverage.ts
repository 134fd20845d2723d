import type { Coverage } from "../domain/record.ts";
import type { Parameters } from "../domain/parameters.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { ClockState } from "./clock-state.ts";
import type { DeriveState, GroupState } from "./state.ts";

const BRIDGE_POLLS = 3;
const BRIDGE_AT_LEAST_MS = 15_000;
/** Where the parameters don't name the group. */
const DEFAULT_POLL_MS = 1000;

export function pollIntervalMs(parameters: Parameters | null, group: string): Milliseconds {
  return parameters?.groups[group]?.poll_interval_ms ?? DEFAULT_POLL_MS;
}

/** The longest gap over which a value of the group simply holds: max(3 x poll interval, 15 s). */
export function bridgeMs(parameters: Parameters | null, group: string): Milliseconds {
  return Math.max(BRIDGE_POLLS * pollIntervalMs(parameters, group), BRIDGE_AT_LEAST_MS);
}

/** Takes a coverage record in at its `from`. One without polls passes time only. */
export function cover(state: DeriveState, { boot, value }: Coverage): void {
  if (value.polls === 0) return;
  const group = state.groups[value.group];
  const goes_on = group?.boot === boot && value.from - group.to <= bridgeMs(state.parameters, value.group);
  if (goes_on) {
    group.to = Math.max(group.to, value.to);
    return;
  }
  const { now } = state.clock;
  const known_until =
    group === undefined ? null : group.boot === boot ? now - (value.from - group.to) : group.known_until;
  state.groups[value.group] = { boot, from: value.from, to: value.to, known_until };
}

/** Whether the group is known to have been polled without a break around the present instant. */
export function isCovered(group: GroupState | undefined, clock: ClockState): boolean {
  return group?.boot === clock.boot && group.from <= clock.mono && clock.mono <= group.to;
}
