import { render } from "../../domain/messages/render.ts";
import { type Text, message } from "../../domain/message.ts";
import type { RequestCounts } from "../../domain/agent-control.ts";
import { normalizeSerial } from "../../domain/booth.ts";
import type { Profile } from "../../domain/profile.ts";
import type { ProvisioningRow } from "../../domain/provisioning.ts";
import type { EventRecord } from "../../domain/record.ts";
import type { Trouble } from "../../domain/status.ts";
import type { Sample } from "../../domain/taken.ts";
import type { Milliseconds, Serial, TagName } from "../../domain/units.ts";

/** Rules of a link: first when its booths are polled, then which faults it has. */

/** Monotonic time at which each poll group is due next. */
type Schedule = Readonly<Record<string, Milliseconds>>;

type Groups = Readonly<Record<string, { readonly poll_interval_ms: Milliseconds }>>;

/**
 * Time within which the starts of the links are spread. Poll intervals are mostly whole seconds, so links that start apart within a second
 * stay apart.
 */
const SPREAD_MS: Milliseconds = 1_000;

/**
 * Returns the delay of each link's start. With these delays, the polls of several links, and the commits that follow them, are never due at
 * the same instant.
 * @param groups poll groups of every booth
 */
export function linkBegins(links: number, groups: readonly Groups[]): readonly Milliseconds[] {
  const spread = Math.min(SPREAD_MS, ...groups.map(quickestOf));
  return Array.from({ length: links }, (_, link) => Math.floor((spread * link) / links));
}

export function quickestOf(groups: Groups): Milliseconds {
  return Math.min(...Object.values(groups).map(({ poll_interval_ms }) => poll_interval_ms));
}

/** Makes every group due at once. */
export function scheduleFrom(groups: Groups, mono: Milliseconds): Schedule {
  return Object.fromEntries(Object.keys(groups).map((group) => [group, mono]));
}

/**
 * Returns the group that is due first. If several groups are due at the same time, returns the one with the shortest interval. undefined:
 * there are no groups.
 */
export function nextDue(schedule: Schedule, groups: Groups) {
  const intervalOf = (group: string): Milliseconds => groups[group]?.poll_interval_ms ?? 0;
  const dues = Object.entries(schedule).map(([group, due]) => ({ group, due }));
  return dues.toSorted((a, b) => a.due - b.due || intervalOf(a.group) - intervalOf(b.group))[0];
}

/** Returns the groups that are due at `mono`, in the profile's order. A single read covers all of them. */
export function dueGroups(schedule: Schedule, groups: Groups, mono: Milliseconds): readonly string[] {
  return Object.keys(groups).filter((group) => (schedule[group] ?? Infinity) <= mono);
}

/** Arranges samples by poll group. `tags` has the tag of each sample at the same index. */
export function byGroup(
  groups: readonly string[],
  tags: readonly { readonly group: string }[],
  samples: readonly Sample[],
): ReadonlyMap<string, readonly Sample[]> {
  const all = new Map(groups.map((group): [string, Sample[]] => [group, []]));
  // Uses `forEach`, because `entries()` would make a pair for each sample, which was half of a poll's garbage.
  samples.forEach((sample, index) => all.get(tags[index]?.group ?? "")?.push(sample));
  return all;
}

/**
 * Moves a polled group's due time forward by whole intervals. If the new due time has already passed, the poll follows at once, less than
 * an interval late. Earlier missed polls are skipped.
 */
export function afterPoll(schedule: Schedule, groups: Groups, polled: { group: string; mono: Milliseconds }): Schedule {
  const interval = groups[polled.group]?.poll_interval_ms ?? 1_000;
  const due = (schedule[polled.group] ?? polled.mono) + interval;
  const missed = Math.max(0, Math.floor((polled.mono - due) / interval));
  return { ...schedule, [polled.group]: due + missed * interval };
}

/** Makes a group due with the next poll of the quickest group, unless it is due earlier. */
export function soonAgain(schedule: Schedule, groups: Groups, polled: { group: string; mono: Milliseconds }): Schedule {
  const soon = Math.min(schedule[polled.group] ?? polled.mono, polled.mono + quickestOf(groups));
  return { ...schedule, [polled.group]: soon };
}

/** The due times of one booth on a link. */
export interface BoothDues {
  readonly schedule: Schedule;
  readonly groups: Groups;
  /** Monotonic time at which the booth's device may be contacted again; null: the device answers. */
  readonly retry_at: Milliseconds | null;
}

/** The next poll of a link. `group` null: a probe, which checks whether the booth's device answers again. */
interface DuePoll {
  readonly booth: number;
  readonly at: Milliseconds;
  readonly group: string | null;
}

/** Longest delay of a probe. After this time the probe runs first, even if polls must wait once. */
const MAX_PROBE_DELAY_MS = 10_000;

/**
 * Returns the next poll of a link that booths share; undefined if no poll is due. Polls run in the order of their due times. A device that
 * doesn't answer is probed only if a failed probe (`probe_ms`) ends before the next poll is due. So a probe delays no working device.
 */
export function nextPoll(
  booths: readonly BoothDues[],
  mono: Milliseconds,
  probe_ms: Milliseconds,
): DuePoll | undefined {
  const dues = booths.flatMap(({ schedule, groups, retry_at }, booth): DuePoll[] => {
    if (retry_at !== null) return [{ booth, at: retry_at, group: null }];
    const next = nextDue(schedule, groups);
    return next === undefined ? [] : [{ booth, at: next.due, group: next.group }];
  });
  const sorted = dues.toSorted((a, b) => a.at - b.at);
  const poll = sorted.find(({ group }) => group !== null);
  const probe = sorted.find(({ group }) => group === null);
  if (poll === undefined || probe === undefined) return poll ?? probe;
  const fits = Math.max(probe.at, mono) + probe_ms <= poll.at;
  return fits || mono >= probe.at + MAX_PROBE_DELAY_MS ? probe : poll;
}

/** Shortest gap before the next poll that a tool's read may use. A healthy device answers in a tenth of this time. */
const MIN_FREE_MS = 100;
/**
 * Least time that a tool's read waits for its answer, even if a poll becomes due. If the read ended earlier, the connection would be lost.
 */
const MIN_ANSWER_MS = 500;
const MAX_ANSWER_MS = 1_000;
/** Wait after which a tool's read runs before a poll if polls leave no gap. */
const PATIENCE_MS = 2_000;

/**
 * Returns the time limit of a tool's read on a shared link; null: the read must wait. `free_ms` is the time until the next poll,
 * `waited_ms` the time that the tool has waited. A healthy device answers before the poll is due. A silent device delays the poll by
 * `MIN_ANSWER_MS` at most.
 */
export function fitsBetween(free_ms: Milliseconds, waited_ms: Milliseconds): Milliseconds | null {
  if (free_ms < MIN_FREE_MS && waited_ms < PATIENCE_MS) return null;
  return Math.min(MAX_ANSWER_MS, Math.max(MIN_ANSWER_MS, free_ms));
}

/** Tags that the device refused in its last poll. */
type Refusals = ReadonlySet<TagName>;

export const NO_REFUSALS: Refusals = new Set();

/** Reasons of bad samples for addresses or variables that the device doesn't have, or doesn't allow us to read. */
const REFUSED = /^(exception_\d+|hole|BadNodeId\w*|BadNotReadable|BadUserAccessDenied|BadAttributeIdInvalid)$/;
/** Maximum number of tags that a message names. Further tags are only counted. */
const MAX_NAMED = 5;

/** Reasons of samples that say nothing about refusals: the tag wasn't requested, or the answer was lost. */
const NO_ANSWER: ReadonlySet<string> = new Set(["no_answer", "wrong_answer"]);

/** Adds the samples of one poll. Tags without an answer stay unchanged. */
export function withPoll(before: Refusals, samples: readonly Sample[]): Refusals {
  if (before.size === 0 && samples.every(({ reason }) => reason === undefined)) return before;
  const after = new Set(before);
  for (const { tag, quality, reason = "" } of samples) {
    if (NO_ANSWER.has(reason)) continue;
    if (quality === "bad" && REFUSED.test(reason)) after.add(tag);
    else after.delete(tag);
  }
  return after;
}

/** Returns the reason why refused tags degrade the link; null if the device refuses no tag. */
export function refusalTrouble(refusals: Refusals): Trouble | null {
  const count = refusals.size;
  if (count === 0) return null;
  const tags = [...refusals].slice(0, MAX_NAMED).join(", ");
  const more = count - MAX_NAMED;
  const advice = message("plc.check.tags");
  return {
    reason: more > 0 ? message("plc.refuses_more", { count, tags, more }) : message("plc.refuses", { count, tags }),
    advice,
  };
}

/** A tag whose newest samples are all bad. */
interface UnusableTag {
  /** Monotonic time of the first bad poll. */
  readonly since: Milliseconds;
  /** Number of bad polls in a row. */
  readonly polls: number;
  /** The reason at the first bad poll. It is kept, so that a sensor that alternates between two faults is logged only once. */
  readonly reason: string;
  /** True if the tag has been bad long enough to be reported. */
  readonly isReported: boolean;
}

/** The watched tags that have no usable value, by name. */
type UnusableTags = ReadonlyMap<TagName, UnusableTag>;

export const NO_UNUSABLE_TAGS: UnusableTags = new Map();

/** Bad polls in a row after which a tag is unusable. A PLC that starts, or a block that turned zero, causes only one or two bad polls. */
const UNUSABLE_POLLS = 3;
/**
 * Least time for which a tag must be bad. A quick group has three polls in less than a second, but a PLC needs up to ten seconds to start.
 */
const UNUSABLE_MS: Milliseconds = 10_000;

/**
 * Adds the samples of one poll. `watched` holds the tags with a role, which the booth's figures depend on. Refused tags are excluded,
 * because `withPoll` reports them at once.
 */
export function withSamples(
  before: UnusableTags,
  samples: readonly Sample[],
  { watched, mono }: { readonly watched: ReadonlySet<TagName>; readonly mono: Milliseconds },
): UnusableTags {
  if (before.size === 0 && samples.every(({ quality }) => quality !== "bad")) return before;
  const after = new Map(before);
  for (const { tag, quality, reason = "" } of samples) {
    if (quality !== "bad" || !watched.has(tag) || REFUSED.test(reason)) {
      after.delete(tag);
      continue;
    }
    const known = before.get(tag) ?? { since: mono, polls: 0, reason, isReported: false };
    const polls = known.polls + 1;
    after.set(tag, { ...known, polls, isReported: polls >= UNUSABLE_POLLS && mono - known.since >= UNUSABLE_MS });
  }
  return after;
}

/** Returns why unusable tags degrade the link; null if every watched tag has recently had a usable value. */
export function unusableTrouble(unusable: UnusableTags): Trouble | null {
  const reported = [...unusable].filter(([, { isReported }]) => isReported);
  const [first] = reported;
  if (first === undefined) return null;
  const [tag, { reason: why }] = first;
  const advice = SENSOR_FAULTS.has(why) ? message("plc.check.sensor") : message("plc.check.values");
  if (reported.length === 1) return { reason: unusableText(tag, why), advice };
  const tags = reported
    .slice(0, MAX_NAMED)
    .map(([name, { reason }]) => message("text.hint", { text: name, hint: reason }));
  const values = { count: reported.length, tags };
  const more = reported.length - tags.length;
  return {
    reason: more > 0 ? message("plc.unusable_more", { ...values, more }) : message("plc.unusable", values),
    advice,
  };
}

/** Reasons of samples that have the right type but are not measurements. */
const SENSOR_FAULTS: ReadonlySet<string> = new Set(["nan", "inf", "sentinel", "below_min", "above_max"]);
/** Reasons of samples whose variable exists in the PLC but has no value. */
const NO_VALUE: ReadonlySet<string> = new Set(["missing", "BadWaitingForInitialData", "BadNoData"]);

function unusableText(tag: TagName, why: string): Text {
  if (why === "wrong_type") return message("plc.unusable_type", { tag });
  return NO_VALUE.has(why) ? message("plc.unusable_empty", { tag, why }) : message("plc.unusable_one", { tag, why });
}

/** Observation of whether a device loses so many requests that people should know, although its values arrive. */
export interface Losses {
  /** Start of the observation period. */
  readonly from: { readonly mono: Milliseconds; readonly counts: RequestCounts };
  /** Why the link is degraded, with the same words until the trouble ends; null: few requests are lost. */
  readonly trouble: Trouble | null;
}

/** Least length of an observation period, in requests and in time. The trouble can end once in a period. */
const PERIOD_REQUESTS = 100;
const PERIOD_MS: Milliseconds = 60_000;
/** Least number of lost requests that is reported. A single lost reply, or the restart of a network switch, is no trouble. */
const MIN_MISSED = 5;
const REPORTED_SHARE = 0.02;
/** Share of lost requests below which a period ends the trouble. */
const HEALTHY_SHARE = 0.01;

export function noLosses(counts: RequestCounts, mono: Milliseconds): Losses {
  return { from: { mono, counts }, trouble: null };
}

/** Adds the counts after another poll. */
export function withRequests(before: Losses, counts: RequestCounts, mono: Milliseconds): Losses {
  const { from, trouble } = before;
  const asked = counts.asked - from.counts.asked;
  const missed = counts.missed - from.counts.missed;
  const share = asked === 0 ? 0 : missed / asked;
  if (trouble === null && missed >= MIN_MISSED && share >= REPORTED_SHARE) {
    const reason = message("plc.losses", { missed, asked });
    return { from: { mono, counts }, trouble: { reason, advice: message("plc.check.losses") } };
  }
  if (asked < PERIOD_REQUESTS || mono - from.mono < PERIOD_MS) return before;
  return { from: { mono, counts }, trouble: share < HEALTHY_SHARE ? null : trouble };
}

/** The identity of the PLC that has been answering, according to its serial number. */
export interface PlcIdentity {
  /** The serial number that the PLC showed last, normalized; null: no number was read yet. */
  readonly shown: Serial | null;
  /** Monotonic time at which a foreign serial number was last logged; null: the number is right, or unknown. */
  readonly logged_at: Milliseconds | null;
}

export const UNKNOWN_PLC: PlcIdentity = { shown: null, logged_at: null };

/**
 * Interval at which an event is logged again while its cause lasts. It is half of the 10 min without an event after which an incident is
 * resolved.
 */
const LOG_AGAIN_MS = 300_000;

/** Returns the tag and the poll group with the PLC's serial number; null if the profile has no such tag. */
export function serialTagOf(profile: Profile): { readonly tag: TagName; readonly group: string } | null {
  // Ignores the serial number of a drive or a sensor, because it isn't the booth's.
  if (profile.kind === "device") return null;
  const found = (profile.tags as readonly Profile["tags"][number][]).find(({ role }) => role === "plc_serial");
  return found === undefined ? null : { tag: found.name, group: found.group };
}

/**
 * Returns the serial number that this booth's PLC must show; null: the booth isn't confirmed yet. The person who confirmed the booth saw
 * the number that the PLC showed, and that number counts, whether it is the controller's or the booth's. If the PLC showed no number, the
 * booth's serial number counts.
 */
export function expectedSerial(row: Pick<ProvisioningRow, "serial" | "confirmed">, configured: Serial | null) {
  if (row.serial === null) return configured;
  return row.confirmed === null ? null : (row.confirmed.plc_serial ?? row.serial);
}

/**
 * Checks whether a poll is from the booth's own PLC. Another serial number makes the PLC foreign until the booth's own number is read
 * again. An unreadable or empty serial number changes nothing. A PLC that starts shows NULs for a moment, and some PLCs never show a
 * number.
 * @returns foreign: why the poll doesn't count, or null; event: the event to log now, or null
 */
export function identityIn(
  before: PlcIdentity,
  {
    mono,
    samples,
    tag,
    expected,
  }: {
    readonly mono: Milliseconds;
    readonly samples: readonly Sample[];
    readonly tag: TagName;
    /** The booth's serial number; null: not entered yet. */
    readonly expected: Serial | null;
  },
): { readonly state: PlcIdentity; readonly foreign: Trouble | null; readonly event: EventRecord["value"] | null } {
  const shown = serialIn(samples, tag) ?? before.shown;
  if (shown === null || expected === null || shown === normalized(expected)) {
    return { state: { shown, logged_at: null }, foreign: null, event: null };
  }
  const foreign = { reason: message("plc.foreign", { shown, expected }), advice: message("plc.check.serial") };
  const { logged_at } = before;
  if (logged_at !== null && shown === before.shown && mono - logged_at < LOG_AGAIN_MS) {
    return { state: before, foreign, event: null };
  }
  return {
    state: { shown, logged_at: mono },
    foreign,
    event: { event: "identity", detail: render(foreign.reason), tag },
  };
}

function serialIn(samples: readonly Sample[], tag: TagName): Serial | null {
  const sample = samples.find((one) => one.tag === tag);
  if (sample === undefined || sample.quality === "bad" || sample.value === null) return null;
  return normalized(String(sample.value).replaceAll("\0", "")) || null;
}

/** Normalizes a serial number for comparison. Text that can't be a serial number is only trimmed and converted to upper case. */
function normalized(text: string): Serial {
  return normalizeSerial(text) ?? text.trim().toUpperCase();
}
