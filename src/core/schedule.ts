import type { Milliseconds } from "./types/units.ts";

/** When each poll group is due next, on the monotonic clock. */
export type Schedule = Readonly<Record<string, Milliseconds>>;

type Groups = Readonly<Record<string, { readonly poll_interval_ms: Milliseconds }>>;

/** Every group at once. */
export function scheduleFrom(groups: Groups, mono: Milliseconds): Schedule {
  return Object.fromEntries(Object.keys(groups).map((group) => [group, mono]));
}

/** The group that is due first, and when; undefined where there are no groups. At equal times the quicker group goes first. */
export function nextDue(
  schedule: Schedule,
  groups: Groups,
): { readonly group: string; readonly due: Milliseconds } | undefined {
  const order = Object.entries(schedule).sort(
    ([a, dueA], [b, dueB]) => dueA - dueB || (groups[a]?.poll_interval_ms ?? 0) - (groups[b]?.poll_interval_ms ?? 0),
  );
  const first = order[0];
  return first === undefined ? undefined : { group: first[0], due: first[1] };
}

/** The group was polled: its next turn keeps the rhythm; turns that have passed meanwhile are left out, never made up for. */
export function afterPoll(schedule: Schedule, groups: Groups, polled: { group: string; mono: Milliseconds }): Schedule {
  const interval = groups[polled.group]?.poll_interval_ms ?? 1_000;
  const due = (schedule[polled.group] ?? polled.mono) + interval;
  const missed = Math.max(0, Math.ceil((polled.mono - due) / interval));
  return { ...schedule, [polled.group]: due + missed * interval };
}
