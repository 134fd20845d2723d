import type { RequestCounts } from "../../domain/agent-control.ts";
import type { Sample } from "../../domain/taken.ts";
import type { Trouble } from "../../domain/status.ts";
import type { Milliseconds, TagName, Serial } from "../../domain/units.ts";
import { normaliseSerial } from "../../domain/booth.ts";
import type { ProvisioningRow } from "../../domain/provisioning.ts";
import type { Profile } from "../../domain/profile.ts";
import type { EventRecord } from "../../domain/record.ts";
import { say } from "../../domain/sentences.ts";

/** Rules of a link: when its booths are polled, then what is wrong with it. */

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

/** By poll group: the tags that the device refused in its last poll, and how. */
type Refusals = ReadonlyMap<string, ReadonlyMap<TagName, string>>;

export const NO_REFUSALS: Refusals = new Map();

/** What a device gives instead of a value where it knows no such address or variable, or doesn't let us read it. */
const REFUSED = /^(exception_\d+|hole|BadNodeId\w*|BadNotReadable|BadUserAccessDenied|BadAttributeIdInvalid)$/;
/** Named in a sentence; the rest is counted. */
const MOST_NAMED = 5;

/** Nobody asked it, or nobody heard what it said. */
const UNHEARD: ReadonlySet<string | undefined> = new Set(["no_answer", "wrong_answer"]);

/** With what the group's last poll says; the same object where that is nothing new. A tag of which nothing was heard stays as it was. */
export function withPoll(before: Refusals, group: string, samples: readonly Sample[]): Refusals {
  const known = before.get(group);
  if ((known?.size ?? 0) === 0 && samples.every(({ reason }) => reason === undefined)) return before;
  const heard = samples.map((sample) => {
    const reason = UNHEARD.has(sample.reason) ? known?.get(sample.tag) : undefined;
    return reason === undefined ? sample : { ...sample, reason };
  });
  const refused = heard.filter(({ quality, reason }) => quality === "bad" && REFUSED.test(reason ?? ""));
  const same = refused.length === (known?.size ?? 0) && refused.every(({ tag, reason }) => known?.get(tag) === reason);
  if (same) return before;
  return new Map([...before, [group, new Map(refused.map(({ tag, reason = "" }) => [tag, reason]))]]);
}

/** Why a link that stands is not as good as it could be; null: every tag is answered. */
export function refusalTrouble(refusals: Refusals): Trouble | null {
  const tags = [...refusals.values()].flatMap((group) => [...group.keys()]);
  if (tags.length === 0) return null;
  return {
    reason: refusalText(tags),
    advice: say("plc.check.tags"),
  };
}

function refusalText(tags: readonly TagName[]): string {
  const count = tags.length;
  const more = tags.length - MOST_NAMED;
  const named = tags.slice(0, MOST_NAMED).join(", ");
  if (count === 1) return say("plc.refuses_one", { tag: named });
  return more > 0 ? say("plc.refuses_more", { count, tags: named, more }) : say("plc.refuses", { count, tags: named });
}

/** A tag whose newest samples are all bad. */
interface UnusableTag {
  /** Monotonic time of the first bad poll. */
  readonly since: Milliseconds;
  /** Bad polls in a row, counted up to UNUSABLE_POLLS. */
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
 * out, since `withPoll` reports them at once. Returns the same object if nothing changes.
 */
export function withSamples(
  before: UnusableTags,
  samples: readonly Sample[],
  { watched, mono }: { readonly watched: ReadonlySet<TagName>; readonly mono: Milliseconds },
): UnusableTags {
  let after: Map<TagName, UnusableTag> | null = null;
  for (const { tag, quality, reason = "" } of samples) {
    const known = before.get(tag);
    if (known === undefined && quality !== "bad") continue;
    const isUnusable = quality === "bad" && watched.has(tag) && !REFUSED.test(reason);
    if (isUnusable ? known?.isReported === true : known === undefined) continue;
    after ??= new Map(before);
    if (isUnusable) after.set(tag, afterBadPoll(known, reason, mono));
    else after.delete(tag);
  }
  return after ?? before;
}

function afterBadPoll(known: UnusableTag | undefined, reason: string, mono: Milliseconds): UnusableTag {
  const { since, polls, reason: first } = known ?? { since: mono, polls: 0, reason };
  const isReported = polls + 1 >= UNUSABLE_POLLS && mono - since >= UNUSABLE_MS;
  return { since, polls: Math.min(polls + 1, UNUSABLE_POLLS), reason: first, isReported };
}

/** Returns why the link is degraded; null if every watched tag has had a usable value within the last polls. */
export function unusableTrouble(unusable: UnusableTags): Trouble | null {
  if (unusable.size === 0) return null;
  const reported = [...unusable].filter(([, { isReported }]) => isReported);
  const [first] = reported;
  if (first === undefined) return null;
  const [tag, { reason: why }] = first;
  const advice = SENSOR_FAULTS.has(why) ? say("plc.check.sensor") : say("plc.check.values");
  if (reported.length === 1) return { reason: unusableText(tag, why), advice };
  const named = reported.slice(0, MOST_NAMED).map(([name, { reason }]) => `${name} (${reason})`);
  const values = { count: reported.length, tags: named.join(", ") };
  const more = reported.length - named.length;
  return { reason: more > 0 ? say("plc.unusable_more", { ...values, more }) : say("plc.unusable", values), advice };
}

/** The value has the right type and is not a measurement. */
const SENSOR_FAULTS: ReadonlySet<string> = new Set(["nan", "inf", "sentinel", "below_min", "above_max"]);
/** The PLC has the variable but no value for it. */
const NO_VALUE: ReadonlySet<string> = new Set(["missing", "BadWaitingForInitialData", "BadNoData"]);

function unusableText(tag: TagName, why: string): string {
  if (why === "wrong_type") return say("plc.unusable_type", { tag });
  return NO_VALUE.has(why) ? say("plc.unusable_empty", { tag, why }) : say("plc.unusable_one", { tag, why });
}

/** Whether a device loses so many requests that people should know, though its values come. */
export interface Losses {
  /** Of the stretch that is looked at: where it began. */
  readonly from: { readonly mono: Milliseconds; readonly counts: RequestCounts };
  /** What people are told; the same words until it is over. null: too few are lost. */
  readonly trouble: Trouble | null;
}

/** A stretch has at least so many requests and so much time: what is told changes once in it. */
const STRETCH_REQUESTS = 100;
const STRETCH_MS: Milliseconds = 60_000;
/** One lost reply is nothing, nor is a switch that starts anew. */
const LEAST_MISSED = 5;
const WORTH_TELLING = 0.02;
/** A stretch with fewer is over with it. */
const WELL = 0.01;

export function noLosses(counts: RequestCounts, mono: Milliseconds): Losses {
  return { from: { mono, counts }, trouble: null };
}

/** With the counts as they are after another poll. */
export function withRequests(before: Losses, counts: RequestCounts, mono: Milliseconds): Losses {
  const { from } = before;
  const asked = counts.asked - from.counts.asked;
  const missed = counts.missed - from.counts.missed;
  const share = asked === 0 ? 0 : missed / asked;
  const isWorth = before.trouble === null && missed >= LEAST_MISSED && share >= WORTH_TELLING;
  if (isWorth) return { from: { mono, counts }, trouble: lossTrouble(missed, asked) };
  if (asked < STRETCH_REQUESTS || mono - from.mono < STRETCH_MS) return before;
  return { from: { mono, counts }, trouble: share < WELL ? null : before.trouble };
}

function lossTrouble(missed: number, asked: number): Trouble {
  return {
    reason: say("plc.losses", { missed, asked }),
    advice: say("plc.check.losses"),
  };
}

/** Which PLC has been answering, as far as it says so itself. */
export interface PlcIdentity {
  /** The serial number it last showed, as people compare it; null: none could be read yet. */
  readonly shown: Serial | null;
  /** When it was last told of that this is not the booth's; null: it is, or nobody knows. */
  readonly told: Milliseconds | null;
}

export const UNKNOWN_PLC: PlcIdentity = { shown: null, told: null };

/** An incident is resolved when nothing was heard of it for 10 min; while it lasts it is told of twice in that time. */
const TELL_AGAIN_MS = 300_000;

/** The tag and the poll group that show the PLC's serial number; null: nothing in the profile does. */
export function serialTagOf(profile: Profile): { readonly tag: TagName; readonly group: string } | null {
  // A drive or a sensor has a number of its own, which is not the booth's.
  if (profile.kind === "device") return null;
  const found = (profile.tags as readonly Profile["tags"][number][]).find(({ role }) => role === "plc_serial");
  return found === undefined ? null : { tag: found.name, group: found.group };
}

/**
 * The number that this booth's PLC shows. Whoever confirmed the booth saw what the PLC calls itself, and that holds, a controller's
 * own number or the booth's; where it said nothing, the booth's serial number. null: nobody has confirmed a booth yet.
 */
export function expectedSerial(row: Pick<ProvisioningRow, "serial" | "confirmed">, configured: Serial | null) {
  if (row.serial === null) return configured;
  return row.confirmed === null ? null : (row.confirmed.plc_serial ?? row.serial);
}

/**
 * Whether a poll comes from the booth's own PLC. Another serial number than the booth's makes it foreign until the
 * booth's own is read again. A serial number that can't be read, or is empty, proves nothing and changes nothing: a PLC
 * that starts shows NULs for a moment, and one that never shows any would leave its booth without data.
 * @returns foreign: what to tell people, null where the poll counts; event: the record to log now, null: none
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
    /** The booth's; null: nobody has entered it yet. */
    readonly expected: Serial | null;
  },
): { readonly state: PlcIdentity; readonly foreign: Trouble | null; readonly event: EventRecord["value"] | null } {
  const shown = serialIn(samples, tag) ?? before.shown;
  if (shown === null || expected === null || shown === compared(expected)) {
    const same = shown === before.shown && before.told === null;
    return { state: same ? before : { shown, told: null }, foreign: null, event: null };
  }
  const foreign = foreignTrouble(shown, expected);
  const isTold = before.told !== null && shown === before.shown && mono - before.told < TELL_AGAIN_MS;
  const event = isTold ? null : { event: "identity", detail: foreign.reason, tag };
  return { state: isTold ? before : { shown, told: mono }, foreign, event };
}

function foreignTrouble(shown: Serial, expected: Serial): Trouble {
  return {
    reason: say("plc.foreign", { shown, expected }),
    advice: say("plc.check.serial"),
  };
}

function serialIn(samples: readonly Sample[], tag: TagName): Serial | null {
  const sample = samples.find((one) => one.tag === tag);
  if (sample === undefined || sample.quality === "bad" || sample.value === null) return null;
  const text = compared(String(sample.value).replaceAll("\0", ""));
  return text === "" ? null : text;
}

/** As it is compared: what can't be a serial number is taken as it stands. */
function compared(text: string): Serial {
  return normaliseSerial(text) ?? text.trim().toUpperCase();
}
