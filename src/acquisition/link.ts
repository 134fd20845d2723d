import type { BoothConfig } from "../config/port.ts";
import type { BoothCounts, LinkToShare, LiveReading, PlcAsk, RequestCounts } from "../domain/agent-control.ts";
import type { BoothState, LinkState } from "../domain/booth-state.ts";
import { adviceFor, LinkError } from "../domain/link-error.ts";
import { stillDown } from "../domain/link-status.ts";
import type { Clock, Logger, Random, Sealer } from "../domain/machine.ts";
import type { Parameters } from "../domain/parameters.ts";
import type { Profile } from "../domain/profile.ts";
import type { ProvisioningRow } from "../domain/provisioning.ts";
import { fullJitter } from "../domain/retrying.ts";
import { say } from "../domain/sentences.ts";
import { type CameRound, createSignal, isOver, LOOP_MS, type Pulse } from "../domain/signal.ts";
import type { LinkStatus, Trouble } from "../domain/status.ts";
import type { Sample } from "../domain/taken.ts";
import type { Milliseconds, TagName } from "../domain/units.ts";
import type { BoothClock } from "./clock.ts";
import type { Intake } from "./intake.ts";
import type { PollGaps } from "./poll-gaps.ts";
import type { AskOverLink, Driver, GroupSamples, LinkNote, PlcPasswords, PolledWords } from "./port.ts";
import {
  type BoothDues,
  NO_REFUSALS,
  NO_UNUSABLE_TAGS,
  afterPoll,
  dueGroups,
  fitsBetween,
  nextDue,
  nextPoll,
  noLosses,
  refusalTrouble,
  scheduleFrom,
  serialTagOf,
  soonAgain,
  unusableTrouble,
  withPoll,
  withRequests,
  withSamples,
} from "./rules/link.ts";

/** A physical link and the booths that are polled over it: the loop first, then one booth's part of it, then reads for tools. */

/** A booth as configured, with what its profile and the box's file make of it. */
export interface BoothSetup {
  readonly config: BoothConfig;
  readonly profile: Profile;
  readonly parameters: Parameters;
  readonly address: string;
  readonly makeDriver: (passwords: PlcPasswords) => Driver;
  /** Booths with the same one share a physical link, one at a time; absent: it has its own. */
  readonly link?: string;
  /** Tools' reads over the booth's link, while nobody else is at work there; absent: it can't be shared. */
  readonly shared?: { readonly unit: number; readonly ask: AskOverLink };
  /** What the booth's polls read last; absent: nobody wants it. */
  readonly polled?: PolledWords;
  /** The longest that the device keeps its link busy when it doesn't answer. */
  readonly probe_ms?: () => Milliseconds;
  /** After a failure the device is left alone for so long, beside the back-off. */
  readonly settle_ms?: () => Milliseconds;
  /** The device closes connections that rest for so long. */
  readonly idle_close_ms?: Milliseconds;
}

/** A booth as its loops poll it and write its log. */
export interface PolledBooth {
  readonly setup: BoothSetup;
  readonly state: BoothState;
  readonly link: LinkState;
  readonly intake: Intake;
  readonly watch: PollWatch;
  readonly clock: BoothClock;
  /** The parameters in force. */
  parameters(): Parameters;
}

/** What a link's loop has of the machine. */
interface LinkMachine {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** A booth as its link's loop polls it. */
export interface BoothOnLink {
  /** As the configuration names it. */
  readonly booth: string;
  readonly address: string;
  readonly status: () => LinkStatus;
  readonly setStatus: (status: LinkStatus) => void;
  /** Gets what is unusual about the device at each poll; absent: nobody shows it. */
  readonly setNotes?: (notes: readonly string[]) => void;
  readonly groups: Parameters["groups"];
  readonly makeDriver: () => Driver;
  readonly intake: Pick<Intake, "answered" | "unanswered">;
  /** The group that shows which PLC this is: the first to be read on every connection. */
  readonly identity_group?: string;
  /** Tags with a role: the link is degraded while one of them has no usable value. Absent: no tag has one. */
  readonly watched_tags?: ReadonlySet<TagName>;
  /** Whoever shows polls to people; absent: nobody does. */
  readonly watch?: PollWatch;
  /** After a failure the device is left alone for so long, beside the back-off. */
  readonly settle_ms?: () => Milliseconds;
  /** The device closes connections that rest for so long. */
  readonly idle_close_ms?: Milliseconds;
}

/** A physical link, and who is polled over it. */
export interface PolledLink extends LinkMachine {
  readonly booths: readonly BoothOnLink[];
  /** The longest that a device which doesn't answer keeps the link busy. */
  readonly probe_ms: () => Milliseconds;
  /** The first attempt is made so much later. */
  readonly begins_in: Milliseconds;
  /** What tools want over the link between polls; absent: it isn't shared with any. */
  readonly shared?: SharedLink | undefined;
  /** Absent: nobody watches over the loop. */
  readonly beat?: CameRound;
  /** Told when the next poll is due, in monotonic time. Infinity: the loop has ended. */
  readonly due?: (at: Milliseconds) => void;
}

/**
 * Owns one physical link: connects, polls each booth's groups when they are due, and makes anew what failed. Returns when
 * aborted.
 */
export async function linkLoop(link: PolledLink, signal: AbortSignal): Promise<void> {
  const { clock } = link;
  const booths = link.booths.map((booth) => linkBooth(link, booth, link.begins_in));
  try {
    while (!isOver(signal)) {
      const next = nextPoll(
        booths.map((booth) => booth.dues()),
        clock.mono(),
        link.probe_ms(),
      );
      const booth = booths[next?.booth ?? -1];
      if (next === undefined || booth === undefined) throw new LinkError("config", "no booth has a poll group");
      const { at } = next;
      const wait = at - clock.mono();
      link.beat?.(Math.max(0, wait) + LOOP_MS);
      link.due?.(at);
      if ((await pause(link, wait, signal)) === "asked") continue;
      if (isOver(signal)) break;
      const failure = await booth.poll(signal);
      if (failure?.opening === true) failTogether(booths, booth, failure);
    }
  } finally {
    link.shared?.close();
    await Promise.all(booths.map((booth) => booth.close()));
    link.beat?.(Number.POSITIVE_INFINITY);
    link.due?.(Number.POSITIVE_INFINITY);
  }
}

/** Until the next poll; or until a tool has asked: others' polls may be due meanwhile. */
async function pause({ clock, shared }: PolledLink, wait: Milliseconds, signal: AbortSignal): Promise<"asked" | "due"> {
  const until = clock.mono() + wait;
  if (shared === undefined) {
    if (wait > 0) await clock.sleep(wait, signal).catch(() => undefined);
    return "due";
  }
  const served = await shared.serve(Math.max(0, wait));
  if (!served && wait > 0) await shared.rest(wait, signal);
  return wait > 0 && clock.mono() < until ? "asked" : "due";
}

/** A link that can't be opened is so for every booth that waits for it: they are told, and tried again, together. */
function failTogether(booths: readonly LinkBooth[], first: LinkBooth, { error, wait }: LinkFailure): void {
  for (const other of booths) {
    if (other !== first && other.dues().retry_at !== null) other.failed(error, wait);
  }
}

/** The booths of one physical link, whatever their number. */
export function pollLoop(
  gateway: LinkMachine & { readonly pulse: Pulse; readonly sealer: Sealer; readonly gaps?: PollGaps },
  {
    link,
    booths,
    ...more
  }: { readonly link: string; readonly booths: readonly PolledBooth[] } & Pick<PolledLink, "begins_in" | "shared">,
  signal: AbortSignal,
): Promise<void> {
  return linkLoop(
    {
      ...gateway,
      ...more,
      beat: gateway.pulse.loop(`poll of ${booths.map(({ setup }) => setup.config.id).join(" and ")}`),
      due: (at) => gateway.gaps?.due(link, at),
      probe_ms: () => Math.max(...booths.map(({ setup }) => setup.probe_ms?.() ?? 0)),
      booths: booths.map((booth) => onLink(booth, gateway.sealer)),
    },
    signal,
  );
}

function onLink({ setup, state, link, watch, intake }: PolledBooth, sealer: Sealer): BoothOnLink {
  const serial = serialTagOf(setup.profile);
  return {
    ...setup,
    makeDriver: () => setup.makeDriver(() => passwordsIn(state.binding.row, sealer)),
    ...(serial === null ? {} : { identity_group: serial.group }),
    booth: setup.config.id,
    groups: setup.parameters.groups,
    watched_tags: new Set(Object.keys(setup.parameters.tags).filter((tag) => setup.parameters.tags[tag]?.role)),
    intake: {
      ...intake,
      answered(read) {
        const trouble = intake.answered(read);
        if (trouble === null) link.answered += read.size;
        return trouble;
      },
    },
    watch,
    setNotes: (notes) => void (link.notes = notes),
    status: () => link.plc,
    setStatus: (status) => {
      // One more try that failed the same way is no news: a PLC that is switched off would wake every loop all night.
      const isNews = status.kind !== link.plc.kind || reasonOf(status) !== reasonOf(link.plc);
      link.plc = status;
      if (isNews) state.news.raise();
    },
  };
}

function reasonOf(status: LinkStatus): string {
  return status.kind === "up" ? "" : status.reason;
}

/** The record names the password before a change and the one after it; nobody says which of them the PLC has by now. */
function passwordsIn({ record }: ProvisioningRow, sealer: Sealer): readonly string[] {
  const { old, new: next } = record?.plc_passwords ?? { old: null, new: null };
  return [next, old].flatMap((sealed) => {
    const opened = sealed === null ? null : sealer.open(sealed);
    return opened === null || opened === "" ? [] : [opened];
  });
}

/** What people are told of a booth's link: its status at every change, and a line in the log where it matters. */
function linkNews({ booth, address, status, setStatus, setNotes }: BoothOnLink, clock: Clock, log: Logger) {
  const logged = new Set<LinkNote["kind"]>();
  return {
    /** What is unusual and costs no reading: shown as it is now, logged once for each kind. */
    noted(notes: readonly LinkNote[]): void {
      setNotes?.(notes.map(({ text }) => text));
      for (const { kind, text } of notes) {
        if (logged.has(kind)) continue;
        logged.add(kind);
        log.info({ event: "plc_note", booth, address, note: kind }, `${booth}: PLC at ${address}: ${text}`);
      }
    },
    /** A poll was answered. `trouble`: why that isn't all that it should be; null: it is. `started`: mono of the attempt. */
    answering(trouble: Trouble | null, started: Milliseconds): void {
      const before = status();
      if (before.kind === "down") {
        const took_ms = clock.mono() - started;
        log.info({ event: "plc_up", booth, address, took_ms }, `${booth}: PLC answers at ${address}`);
      }
      const since = clock.wall();
      if (trouble === null) {
        if (before.kind === "up") return;
        setStatus({ kind: "up", since });
        if (before.kind === "degraded")
          log.info({ event: "plc_well", booth }, `${booth}: all of the PLC is read again`);
        return;
      }
      const { reason, advice } = trouble;
      if (before.kind === "degraded" && before.reason === reason) return;
      setStatus({ kind: "degraded", since, ...trouble });
      log.warn({ event: "plc_degraded", booth, address, reason }, `${booth}: PLC at ${address}: ${reason}; ${advice}`);
    },
    /** It failed, and is tried again after `wait`. */
    down(error: LinkError, attempt: number, wait: Milliseconds): void {
      const { kind, message: reason } = error;
      const before = status();
      const since = clock.wall();
      const advice = adviceFor(error, address);
      setStatus(stillDown(before, { kind: "down", since, reason, advice, attempt, next_try_at: since + wait }));
      if (before.kind === "down" && attempt !== 1) return;
      log.warn({ event: "plc_down", booth, address, kind }, `${booth}: PLC at ${address}: ${reason}; ${advice}`);
    },
  };
}

/**
 * A PLC is a few metres away: whoever stands before it wants to see it back at once. With the time that an attempt
 * itself takes (2.5 s to connect), a PLC that is back is read again within 5 s.
 */
const RETRY = { base_ms: 250, cap_ms: 2_500 };

interface LinkFailure {
  readonly error: LinkError;
  /** The link couldn't be opened, so the fault may be nobody's in particular. */
  readonly opening: boolean;
  readonly wait: Milliseconds;
}

type LinkBooth = ReturnType<typeof linkBooth>;

const NO_TAGS: ReadonlySet<TagName> = new Set();

/**
 * One booth on a link: its connection, its rhythm, what is known of its life.
 * @param begins_in the first attempt is made so much later
 */
function linkBooth({ clock, random, log }: LinkMachine, booth: BoothOnLink, begins_in: Milliseconds) {
  const { groups, identity_group, watch, watched_tags: watched = NO_TAGS } = booth;
  const news = linkNews(booth, clock, log);
  let schedule = scheduleFrom(groups, clock.mono());
  let attempt = 0;
  let retry_at: Milliseconds | null = clock.mono() + begins_in;
  let refusals = NO_REFUSALS;
  let unusable = NO_UNUSABLE_TAGS;
  let losses = noLosses({ asked: 0, missed: 0 }, clock.mono());
  /** The PLC is another booth's, as it said last. */
  let foreign: Trouble | null = null;

  const count = (driver: Driver | null): void => {
    const requests = driver?.requests?.();
    if (requests === undefined) return;
    losses = withRequests(losses, requests, clock.mono());
    watch?.asked(requests);
  };
  /** What was read ahead of its time, for the identity, isn't among those that were `due`: it doesn't put off the poll to come. */
  const answered = (read: GroupSamples, { due, mono }: { due: readonly string[]; mono: Milliseconds }): void => {
    count(connection.driver());
    foreign = booth.intake.answered(read);
    attempt = 0;
    retry_at = null;
    for (const [group, samples] of read) {
      watch?.answered(group, samples, mono);
      refusals = withPoll(refusals, group, samples);
      unusable = withSamples(unusable, samples, { watched, mono });
    }
    for (const group of due) schedule = afterPoll(schedule, groups, { group, mono });
    const trouble = foreign ?? refusalTrouble(refusals) ?? unusableTrouble(unusable) ?? losses.trouble;
    news.answering(trouble, connection.started());
    news.noted(connection.driver()?.notes?.() ?? []);
    if (foreign === null || identity_group === undefined) return;
    schedule = soonAgain(schedule, groups, { group: identity_group, mono });
  };
  const connection = plcConnection(booth, clock, { count, isForeign: () => foreign !== null });
  const failed = (error: LinkError, wait: Milliseconds): void => {
    attempt++;
    watch?.failed();
    retry_at = clock.mono() + wait;
    booth.intake.unanswered(Object.keys(groups));
    news.down(error, attempt, wait);
  };
  /** Better to close in order than to be closed in the middle of a request. */
  const restsTooLong = (mono: Milliseconds): boolean =>
    booth.idle_close_ms !== undefined && (nextDue(schedule, groups)?.due ?? mono) - mono >= 0.8 * booth.idle_close_ms;
  return {
    dues: (): BoothDues => ({ schedule, groups, retry_at }),
    /** Another booth found the link dead. */
    failed,
    close: connection.close,
    /** Reads every group that is due by now; where the device was away all of them are. Gives what went wrong with the link. */
    async poll(signal: AbortSignal): Promise<LinkFailure | null> {
      if (retry_at !== null) schedule = scheduleFrom(groups, clock.mono());
      // A timer may ring a little early.
      const begins = Math.max(clock.mono(), nextDue(schedule, groups)?.due ?? 0);
      const due = dueGroups(schedule, groups, begins);
      if (retry_at === null) watch?.began(Math.max(...due.map((group) => begins - (schedule[group] ?? begins))));
      try {
        if (due.length === 0) throw new LinkError("config", "the profile has no poll group");
        const read = await connection.read(due, signal);
        answered(read, { due, mono: Math.max(begins, clock.mono()) });
        if (restsTooLong(clock.mono())) await connection.close();
        return null;
      } catch (error) {
        await connection.close();
        if (isOver(signal)) return null;
        if (!(error instanceof LinkError)) throw error;
        const wait = (booth.settle_ms?.() ?? 0) + fullJitter(attempt, RETRY, () => random.next());
        failed(error, wait);
        return { error, opening: connection.opening(), wait };
      }
    },
  };
}

interface Reader {
  /** Looks at a driver's requests. */
  readonly count: (driver: Driver | null) => void;
  readonly isForeign: () => boolean;
}

/** A booth's way to its PLC: one driver after the other, none of which counts before its PLC has shown who it is. */
function plcConnection({ makeDriver, identity_group }: BoothOnLink, clock: Clock, { count, isForeign }: Reader) {
  let driver: Driver | null = null;
  let started = clock.mono();
  let opening = false;
  /** How often the connection had been made anew when the PLC was asked who it is. */
  let identified = 0;
  const close = async (): Promise<void> => {
    count(driver);
    const left = driver;
    driver = null;
    await left?.close();
  };
  const readOver = async (over: Driver, groups: readonly string[]): Promise<GroupSamples> => {
    const renewals = over.renewals?.() ?? 0;
    const read = await over.read(groups);
    if (identity_group !== undefined && groups.includes(identity_group)) identified = renewals;
    return read;
  };
  const readAnew = async (groups: readonly string[], signal: AbortSignal): Promise<GroupSamples> => {
    const made = makeDriver();
    driver = made;
    started = clock.mono();
    opening = true;
    await made.open(signal);
    opening = false;
    if (identity_group === undefined) return readOver(made, groups);
    // Another PLC may stand at the address since the last connection: it shows who it is with whatever is read first.
    return readOver(made, [identity_group, ...groups.filter((group) => group !== identity_group)]);
  };
  /**
   * A connection that the device closed while it rested (common after 1 to 10 s), or that another booth's fault ended, is made anew
   * at once: that is no fault of this device.
   */
  const readOnce = async (groups: readonly string[], signal: AbortSignal): Promise<GroupSamples> => {
    if (driver === null) return readAnew(groups, signal);
    try {
      return await readOver(driver, groups);
    } catch (error) {
      if (isOver(signal) || !(error instanceof LinkError) || error.kind !== "closed") throw error;
      await close();
      return readAnew(groups, signal);
    }
  };
  return {
    close,
    /** null: there is none now. */
    driver: () => driver,
    /** Mono at which the attempt began that goes on, or the last one. */
    started: () => started,
    /** The attempt hasn't got as far as a connection. */
    opening: () => opening,
    /** The groups' samples, over the connection that there is or over a new one, and the identity's where that has to be shown. */
    async read(groups: readonly string[], signal: AbortSignal): Promise<GroupSamples> {
      const read = await readOnce(groups, signal);
      const isKnown = identity_group === undefined || identified === (driver?.renewals?.() ?? 0);
      if (isKnown || groups.every((group) => group === identity_group)) return read;
      // After a connection was made anew in the midst of a poll another PLC may stand at the address: it shows who it is before what
      // was read there counts. A poll that another booth's PLC began doesn't count, whoever ended it.
      if (isForeign()) return new Map([...read].filter(([group]) => group !== identity_group));
      return new Map([...read, ...(await readOnce([identity_group], signal))]);
    },
  };
}

/** Bounds of the histogram of lateness; the aim is 5 ms for 99 of 100 polls. */
const LATE_BOUNDS_MS = [1, 2, 5, 10, 20, 50, 100, 500, 1_000, Infinity] as const;

export type PollWatch = ReturnType<typeof createPollWatch>;

/** Remembers what a booth's polls said last and how they went, for screens and metrics alone. */
export function createPollWatch({ tags }: Pick<Profile, "tags">) {
  const last = new Map<string, { readonly samples: readonly Sample[]; readonly mono: Milliseconds }>();
  const late: number[] = LATE_BOUNDS_MS.map(() => 0);
  let requests: RequestCounts = { asked: 0, missed: 0 };
  const sums = { answered: 0, failed: 0, late_ms: 0 };
  return {
    answered(group: string, samples: readonly Sample[], mono: Milliseconds): void {
      sums.answered += 1;
      last.set(group, { samples, mono });
    },
    failed: (): void => void (sums.failed += 1),
    asked: (counts: RequestCounts): void => void (requests = counts),
    /** A poll began so long after it was due. */
    began(late_ms: Milliseconds): void {
      sums.late_ms += late_ms;
      LATE_BOUNDS_MS.forEach((bound, index) => {
        if (late_ms <= bound) late[index] = (late[index] ?? 0) + 1;
      });
    },
    /** In the profile's order. */
    readings: (mono: Milliseconds): readonly LiveReading[] =>
      tags.map(({ name, label, unit, group }) => {
        const poll = last.get(group);
        const sample = poll?.samples.find(({ tag }) => tag === name);
        return {
          tag: name,
          label: label === "" ? name : label,
          unit,
          group,
          value: sample?.value ?? null,
          quality: sample?.quality ?? null,
          reason: sample?.reason ?? "",
          age_ms: poll === undefined || sample === undefined ? null : mono - poll.mono,
        };
      }),
    counts: (): Pick<BoothCounts, "polls_answered" | "polls_failed" | "requests" | "late" | "late_sum_ms"> => ({
      polls_answered: sums.answered,
      polls_failed: sums.failed,
      requests,
      late: LATE_BOUNDS_MS.map((within_ms, index) => ({ within_ms, polls: late[index] ?? 0 })),
      late_sum_ms: sums.late_ms,
    }),
  };
}

/** A tool asks one thing at a time; more only come from several people at once. */
const MAX_WAITING = 8;

interface Waiting extends PromiseWithResolvers<Uint8Array> {
  readonly ask: PlcAsk;
  readonly since: Milliseconds;
  /** It may go before a poll once it has waited for long; false: never, and it doesn't wait for long. */
  readonly patient: boolean;
}

/** Whoever shares the connection is told so late that there is no room: then it asks again. */
const IMPATIENT_MS: Milliseconds = 3_000;

/** Reads that tools want over a link which the agent holds: carried out between polls, by the link's own loop. */
export function createSharedLink(clock: Clock, askOverLink: AskOverLink) {
  const asked = createSignal(clock);
  const waiting: Waiting[] = [];
  let isClosed = false;
  return {
    /** The answer's PDU. Rejects with a LinkError. */
    async ask(ask: PlcAsk, patient = true): Promise<Uint8Array> {
      if (isClosed) throw new LinkError("closed", say("plc.closed.stopping"));
      if (waiting.length >= MAX_WAITING) throw new LinkError("busy", say("plc.busy_tools"));
      const answer = Promise.withResolvers<Uint8Array>();
      waiting.push({ ...answer, ask, since: clock.mono(), patient });
      asked.raise();
      return answer.promise;
    },
    /** Carries out what has waited longest, if it fits before the next poll, `free_ms` away; false: nothing to do now. */
    async serve(free_ms: Milliseconds): Promise<boolean> {
      giveUpImpatient(waiting, clock.mono());
      for (const [index, next] of waiting.entries()) {
        const within_ms = fitsBetween(free_ms, next.patient ? clock.mono() - next.since : 0);
        if (within_ms === null) continue;
        waiting.splice(index, 1);
        await askOverLink(next.ask, within_ms).then(next.resolve, next.reject);
        return true;
      }
      return false;
    },
    /** Waits for so long or until somebody asks. Never rejects. */
    rest: (ms: Milliseconds, signal: AbortSignal) => asked.wait(signal, ms).catch(() => undefined),
    /** Nobody carries anything out any more. */
    close(): void {
      isClosed = true;
      for (const { reject } of waiting.splice(0)) reject(new LinkError("closed", say("plc.closed.stopping")));
    },
  };
}

function giveUpImpatient(waiting: Waiting[], now: Milliseconds): void {
  for (const one of waiting.filter(({ patient, since }) => !patient && now - since > IMPATIENT_MS)) {
    waiting.splice(waiting.indexOf(one), 1);
    one.reject(new LinkError("busy", "the agent's own polls leave no room now"));
  }
}

type SharedLink = ReturnType<typeof createSharedLink>;

/** The physical link that a booth is polled over. */
export function linkOf({ link, config }: Pick<BoothSetup, "link" | "config">): string {
  return link ?? config.id;
}

/** The agent's links, as far as tools may ask over them. */
export function createSharedLinks(clock: Clock) {
  const links = new Map<string, { readonly units: readonly number[]; readonly shared: SharedLink }>();
  return {
    /** A link begins, with these booths on it. undefined: it isn't shared. */
    begun(link: string, booths: readonly Pick<PolledBooth, "setup">[]): SharedLink | undefined {
      const ways = booths.flatMap(({ setup }) => setup.shared ?? []);
      const [first] = ways;
      if (first === undefined) return undefined;
      const shared = createSharedLink(clock, first.ask);
      links.set(link, { units: [...new Set(ways.map(({ unit }) => unit))], shared });
      return shared;
    },
    ended: (link: string): void => void links.delete(link),
    sharedLinks: (): readonly LinkToShare[] => [...links].map(([link, { units }]) => ({ link, units })),
    askPlc: async (link: string, ask: PlcAsk, patient = true): Promise<Uint8Array> => {
      const shared = links.get(link)?.shared;
      if (shared === undefined) throw new LinkError("config", `the agent holds no link ${link}`);
      return shared.ask(ask, patient);
    },
  };
}
