import { render } from "../../domain/messages/render.ts";
import { type Text, message } from "../../domain/message.ts";
import type { RequestCounts } from "../../domain/agent-control.ts";
import { normaliseSerial } from "../../domain/booth.ts";
import type { Profile } from "../../domain/profile.ts";
import type { ProvisioningRow } from "../../domain/provisioning.ts";
import type { EventRecord } from "../../domain/record.ts";
import type { Trouble } from "../../domain/status.ts";
import type { Sample } from "../../domain/taken.ts";
import type { Milliseconds, Serial, TagName } from "../../domain/units.ts";

/** Rules of a link: when its booths are polled, then what is wrong with it. */

/** When each poll group is due next, on the monotonic clock. */
type Schedule = Readonly<Record<string, Milliseconds>>;

type Groups = Readonly<Record<string, { readonly poll_interval_ms: Milliseconds }>>;

/** Intervals are mostly whole seconds, so links that start at different times within a second stay apart. */
const SPREAD_MS: Milliseconds = 1_000;

/**
 * Returns the delay of each link's start. With it, polls of several links, and the commits that follow them, are never due at the same
 * instant.
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

/** Returns the group that is due first; of several that are due at the same time the quickest one. undefined: there are no groups. */
export function nextDue(schedule: Schedule, groups: Groups) {
  const intervalOf = (group: string): Milliseconds => groups[group]?.poll_interval_ms ?? 0;
  const dues = Object.entries(schedule).map(([group, due]) => ({ group, due }));
  return dues.toSorted((a, b) => a.due - b.due || intervalOf(a.group) - intervalOf(b.group))[0];
}

/** Returns the groups that are due at `mono`, in the profile's order; one read takes them all. */
export function dueGroups(schedule: Schedule, groups: Groups, mono: Milliseconds): readonly string[] {
  return Object.keys(groups).filter((group) => (schedule[group] ?? Infinity) <= mono);
}

/** Groups samples by poll group; `tags` has the tag of each sample at the same index. */
export function byGroup(
  groups: readonly string[],
  tags: readonly { readonly group: string }[],
  samples: readonly Sample[],
): ReadonlyMap<string, readonly Sample[]> {
  const all = new Map(groups.map((group): [string, Sample[]] => [group, []]));
  // entries() would make a pair for each sample, half of a poll's garbage.
  samples.forEach((sample, index) => all.get(tags[index]?.group ?? "")?.push(sample));
  return all;
}

/**
 * Sets a polled group's next due time in its rhythm. If that time has passed meanwhile, the poll follows at once, less than an interval
 * late; earlier missed polls are skipped.
 */
export function afterPoll(schedule: Schedule, groups: Groups, polled: { group: string; mono: Milliseconds }): Schedule {
  const interval = groups[polled.group]?.poll_interval_ms ?? 1_000;
  const due = (schedule[polled.group] ?? polled.mono) + interval;
  const missed = Math.max(0, Math.floor((polled.mono - due) / interval));
  return { ...schedule, [polled.group]: due + missed * interval };
}

/** Makes a group due with the quickest group's next poll, unless it is due earlier. */
export function soonAgain(schedule: Schedule, groups: Groups, polled: { group: string; mono: Milliseconds }): Schedule {
  const soon = Math.min(schedule[polled.group] ?? polled.mono, polled.mono + quickestOf(groups));
  return { ...schedule, [polled.group]: soon };
}

/** The due times of one booth on a link. */
export interface BoothDues {
  readonly schedule: Schedule;
  readonly groups: Groups;
  /** When its device may be tried again; null: it answers. */
  readonly retry_at: Milliseconds | null;
}

/** The next poll of a link. `group` null: a try whether the booth's device is back. */
interface DuePoll {
  readonly booth: number;
  readonly at: Milliseconds;
  readonly group: string | null;
}

/** The longest delay of a try; after that it goes first, even if polls have to wait once. */
const MAX_PROBE_DELAY_MS = 10_000;

/**
 * Returns the next poll of a link that booths share; undefined if there is nothing to poll. Polls follow their due times. A device that
 * doesn't answer is tried only if a try in vain (`probe_ms`) ends before the next poll is due, so that it delays no living device.
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

/** A healthy device answers in a tenth of this. */
const MIN_FREE_MS = 100;
/** A tool's read waits for its answer at least this long, even if a poll becomes due: giving up early costs the connection. */
const MIN_ANSWER_MS = 500;
const MAX_ANSWER_MS = 1_000;
/** If polls leave no gap, a tool's read goes before one of them after this time. */
const PATIENCE_MS = 2_000;

/**
 * Returns how long a tool's read may take on a link whose next poll is due in `free_ms`, after the tool has waited `waited_ms`; null: it
 * must wait. With a healthy device the read ends before the poll is due; a silent device delays the poll by `MIN_ANSWER_MS` at most.
 */
export function fitsBetween(free_ms: Milliseconds, waited_ms: Milliseconds): Milliseconds | null {
  if (free_ms < MIN_FREE_MS && waited_ms < PATIENCE_MS) return null;
  return Math.min(MAX_ANSWER_MS, Math.max(MIN_ANSWER_MS, free_ms));
}

/** Tags that the device refused in its last poll. */
type Refusals = ReadonlySet<TagName>;

export const NO_REFUSALS: Refusals = new Set();

/** Reasons of samples whose address or variable the device doesn't have, or doesn't let us read. */
const REFUSED = /^(exception_\d+|hole|BadNodeId\w*|BadNotReadable|BadUserAccessDenied|BadAttributeIdInvalid)$/;
/** Tags named in a sentence; the rest is counted. */
const MAX_NAMED = 5;

/** Reasons of samples that say nothing about refusals: the tag wasn't requested, or the answer was lost. */
const NO_ANSWER: ReadonlySet<string> = new Set(["no_answer", "wrong_answer"]);

/** Adds the samples of one poll. A tag without an answer stays as it was. */
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

/** Returns why the link is degraded by refused tags; null if every tag is answered. */
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
  /** Bad polls in a row. */
  readonly polls: number;
  /** The reason at the first bad poll; it stays, so that a sensor that alternates between two faults is logged once. */
  readonly reason: string;
  /** It has been bad long enough to be reported. */
  readonly isReported: boolean;
}

/** The watched tags that have no usable value, by name. */
type UnusableTags = ReadonlyMap<TagName, UnusableTag>;

export const NO_UNUSABLE_TAGS: UnusableTags = new Map();

/** A PLC that starts and a block that turned zero bring one or two bad polls, so three in a row are needed. */
const UNUSABLE_POLLS = 3;
/** A quick group has three polls in less than a second; a PLC needs up to ten seconds to start. */
const UNUSABLE_MS: Milliseconds = 10_000;

/**
 * Adds the samples of one poll. `watched` holds the tags with a role: figures depend on them. Tags that the device refuses are left
 * out, since `withPoll` reports them at once.
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

/** Returns why the link is degraded; null if every watched tag has had a usable value within the last polls. */
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

/** The value has the right type and is not a measurement. */
const SENSOR_FAULTS: ReadonlySet<string> = new Set(["nan", "inf", "sentinel", "below_min", "above_max"]);
/** The PLC has the variable but no value for it. */
const NO_VALUE: ReadonlySet<string> = new Set(["missing", "BadWaitingForInitialData", "BadNoData"]);

function unusableText(tag: TagName, why: string): Text {
  if (why === "wrong_type") return message("plc.unusable_type", { tag });
  return NO_VALUE.has(why) ? message("plc.unusable_empty", { tag, why }) : message("plc.unusable_one", { tag, why });
}

/** Whether a device loses so many requests that people should know, although its values arrive. */
export interface Losses {
  /** Start of the period under observation. */
  readonly from: { readonly mono: Milliseconds; readonly counts: RequestCounts };
  /** Why the link is degraded, with the same words until it is over; null: few requests are lost. */
  readonly trouble: Trouble | null;
}

/** Least length of a period, in requests and in time: the trouble can end once in a period. */
const PERIOD_REQUESTS = 100;
const PERIOD_MS: Milliseconds = 60_000;
/** A single lost reply, or the restart of a network switch, is no trouble. */
const MIN_MISSED = 5;
const REPORTED_SHARE = 0.02;
/** A period with a smaller share ends the trouble. */
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

/** The PLC that has been answering, according to its serial number. */
export interface PlcIdentity {
  /** The serial number that it showed last, normalized; null: none could be read yet. */
  readonly shown: Serial | null;
  /** When a foreign serial number was last logged; null: the number is right, or unknown. */
  readonly logged_at: Milliseconds | null;
}

export const UNKNOWN_PLC: PlcIdentity = { shown: null, logged_at: null };

/** An incident is resolved after 10 min without an event, so an event is logged twice in that time. */
const LOG_AGAIN_MS = 300_000;

/** Returns the tag and the poll group with the PLC's serial number; null if the profile has none. */
export function serialTagOf(profile: Profile): { readonly tag: TagName; readonly group: string } | null {
  // The number of a drive or a sensor is not the booth's.
  if (profile.kind === "device") return null;
  const found = (profile.tags as readonly Profile["tags"][number][]).find(({ role }) => role === "plc_serial");
  return found === undefined ? null : { tag: found.name, group: found.group };
}

/**
 * Returns the serial number that this booth's PLC must show. The person who confirmed the booth saw the PLC's number, the controller's
 * own or the booth's, and that number counts; if the PLC showed none, the booth's serial number counts. null: the
 * booth isn't confirmed yet.
 */
export function expectedSerial(row: Pick<ProvisioningRow, "serial" | "confirmed">, configured: Serial | null) {
  if (row.serial === null) return configured;
  return row.confirmed === null ? null : (row.confirmed.plc_serial ?? row.serial);
}

/**
 * Checks whether a poll is from the booth's own PLC. Another serial number makes it foreign until the booth's own is read again. A
 * serial number that can't be read, or is empty, changes nothing: a PLC that starts shows NULs for a moment, and a PLC that never shows
 * a number would leave its booth without data.
 * @returns foreign: why the poll doesn't count, or null; event: the record to log now, or null
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
    /** The booth's; null: not entered yet. */
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

/** Normalizes a serial number for comparison; text that can't be a serial number is compared as it is. */
function normalized(text: string): Serial {
  return normaliseSerial(text) ?? text.trim().toUpperCase();
}
