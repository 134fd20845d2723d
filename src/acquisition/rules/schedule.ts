import type { Sample } from "../../domain/taken.ts";
import type { Milliseconds } from "../../domain/units.ts";

/** When each poll group is due next, on the monotonic clock. */
export type Schedule = Readonly<Record<string, Milliseconds>>;

type Groups = Readonly<Record<string, { readonly poll_interval_ms: Milliseconds }>>;

/** Intervals are mostly whole seconds: links that begin apart within one stay apart. */
const SPREAD_MS: Milliseconds = 1_000;

/**
 * How much later than the first each link begins. Their polls, and their commits, which follow the polls' rhythm, are then
 * never due at the same instant, where the last of many would wait for all others. `groups`: of every booth.
 */
export function linkBegins(links: number, groups: readonly Groups[]): readonly Milliseconds[] {
  const spread = Math.min(SPREAD_MS, ...groups.map(quickestOf));
  return Array.from({ length: links }, (_, link) => Math.floor((spread * link) / links));
}

export function quickestOf(groups: Groups): Milliseconds {
  return Math.min(...Object.values(groups).map(({ poll_interval_ms }) => poll_interval_ms));
}

/** Every group at once. */
export function scheduleFrom(groups: Groups, mono: Milliseconds): Schedule {
  return Object.fromEntries(Object.keys(groups).map((group) => [group, mono]));
}

/** The group that is due first, and when; undefined where there are no groups. At equal times the quicker group goes first. */
export function nextDue(schedule: Schedule, groups: Groups) {
  const intervalOf = (group: string): Milliseconds => groups[group]?.poll_interval_ms ?? 0;
  let first: { readonly group: string; readonly due: Milliseconds } | undefined;
  for (const group of Object.keys(schedule)) {
    const due = schedule[group] ?? Infinity;
    const isSooner =
      first === undefined || due < first.due || (due === first.due && intervalOf(group) < intervalOf(first.group));
    if (isSooner) first = { group, due };
  }
  return first;
}

/** The groups that are due by then, in the profile's order: one read takes them all. */
export function dueGroups(schedule: Schedule, groups: Groups, mono: Milliseconds): readonly string[] {
  return Object.keys(groups).filter((group) => (schedule[group] ?? Infinity) <= mono);
}

/** The samples of these tags, one for each, in their order, as those of each group. */
export function byGroup(
  groups: readonly string[],
  tags: readonly { readonly group: string }[],
  samples: readonly Sample[],
): ReadonlyMap<string, readonly Sample[]> {
  const all = new Map(groups.map((group): [string, Sample[]] => [group, []]));
  // entries() would make a pair for each sample, half of what a poll leaves behind.
  samples.forEach((sample, index) => all.get(tags[index]?.group ?? "")?.push(sample));
  return all;
}

/**
 * The group was polled: its next due time keeps the rhythm. One that fell due meanwhile is taken at once, late by less than an
 * interval; others that have passed are left out, never made up for.
 */
export function afterPoll(schedule: Schedule, groups: Groups, polled: { group: string; mono: Milliseconds }): Schedule {
  const interval = groups[polled.group]?.poll_interval_ms ?? 1_000;
  const due = (schedule[polled.group] ?? polled.mono) + interval;
  const missed = Math.max(0, Math.floor((polled.mono - due) / interval));
  return { ...schedule, [polled.group]: due + missed * interval };
}

/** The group is due with the quickest one's next poll, where its own would come later. */
export function soonAgain(schedule: Schedule, groups: Groups, polled: { group: string; mono: Milliseconds }): Schedule {
  const soon = Math.min(schedule[polled.group] ?? polled.mono, polled.mono + quickestOf(groups));
  return { ...schedule, [polled.group]: soon };
}

/** One booth on a link, as far as it matters who is polled next. */
export interface BoothDues {
  readonly schedule: Schedule;
  readonly groups: Groups;
  /** When its device may be tried again; null: it answers. */
  readonly retry_at: Milliseconds | null;
}

/** Who is next on a link, and when. `group` null: find out whether its device is back. */
export interface DuePoll {
  readonly booth: number;
  readonly at: Milliseconds;
  readonly group: string | null;
}

/** A device that is away is asked for so long after its time at the latest, even if that makes others wait once. */
const LONGEST_PUT_OFF_MS = 10_000;

/**
 * What is due next on a link that booths share. Polls go by their due times. A device that doesn't answer is tried where
 * waiting for it in vain (`probe_ms`) ends before the next poll is due, so that it takes nothing from those that live.
 */
export function nextPoll(booths: readonly BoothDues[], mono: Milliseconds, probe_ms: Milliseconds) {
  const poll = first(
    booths.flatMap(({ schedule, groups, retry_at }, booth) => {
      const due = retry_at === null ? nextDue(schedule, groups) : undefined;
      return due === undefined ? [] : [{ booth, at: due.due, group: due.group }];
    }),
  );
  const probe = first(
    booths.flatMap(({ retry_at }, booth) => (retry_at === null ? [] : [{ booth, at: retry_at, group: null }])),
  );
  if (poll === undefined || probe === undefined) return poll ?? probe;
  const fits = Math.max(probe.at, mono) + probe_ms <= poll.at;
  return fits || mono >= probe.at + LONGEST_PUT_OFF_MS ? probe : poll;
}

function first(polls: readonly DuePoll[]): DuePoll | undefined {
  return polls.reduce<DuePoll | undefined>(
    (soonest, poll) => (soonest && soonest.at <= poll.at ? soonest : poll),
    undefined,
  );
}

/** A device that is well answers in a tenth of it. */
const LEAST_FREE_MS = 100;
/** An answer given up too early costs the link its connection: it is waited for so long even if a poll falls due. */
const LEAST_ANSWER_MS = 500;
const LONGEST_ANSWER_MS = 1_000;
/** Where polls leave no such room, a read goes before one of them after so long. */
const PATIENCE_MS = 2_000;

/**
 * How long a tool's read may take on a link whose next poll is due in `free_ms`, after it has `waited_ms`; null: not now. With a
 * device that is well it ends before the poll is due; one that is silent makes that poll late by `LEAST_ANSWER_MS` at most.
 */
export function fitsBetween(free_ms: Milliseconds, waited_ms: Milliseconds): Milliseconds | null {
  if (free_ms < LEAST_FREE_MS && waited_ms < PATIENCE_MS) return null;
  return Math.min(LONGEST_ANSWER_MS, Math.max(LEAST_ANSWER_MS, free_ms));
}
