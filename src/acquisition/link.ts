import { isSameText, message, type Text } from "../domain/message.ts";
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

/** Timing of a device's link. */
interface LinkManners {
  /** Time that the device is left alone after a failure, in addition to the backoff. */
  readonly settle_ms?: () => Milliseconds;
  /** The device closes connections that are idle for this long. */
  readonly idle_close_ms?: Milliseconds;
}

/** A booth as configured, with the results of its profile and the box's configuration. */
export interface BoothSetup extends LinkManners {
  readonly config: BoothConfig;
  readonly profile: Profile;
  readonly parameters: Parameters;
  readonly address: string;
  readonly makeDriver: (passwords: PlcPasswords) => Driver;
  /** Booths with the same name share a physical link, one at a time; absent: the booth has its own. */
  readonly link?: string;
  /** How tools read over the booth's link between polls; absent: it can't be shared. */
  readonly shared?: { readonly unit: number; readonly ask: AskOverLink };
  /** Newest words of the booth's polls; absent: not collected. */
  readonly polled?: PolledWords;
  /** The longest time that the device keeps its link busy without an answer. */
  readonly probe_ms?: () => Milliseconds;
}

/** A booth as its loops poll it and write its log. */
export interface PolledBooth {
  readonly setup: BoothSetup;
  readonly state: BoothState;
  readonly link: LinkState;
  readonly intake: Intake;
  readonly watch: PollWatch;
  readonly clock: BoothClock;
  /** Returns the parameters in force. */
  parameters(): Parameters;
}

interface LinkMachine {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** A booth as its link's loop polls it. */
export interface BoothOnLink extends LinkManners {
  /** Its id in the configuration. */
  readonly booth: string;
  readonly address: string;
  readonly status: () => LinkStatus;
  readonly setStatus: (status: LinkStatus) => void;
  /** Called at each poll with what is unusual about the device. */
  readonly setNotes?: (notes: readonly Text[]) => void;
  readonly groups: Parameters["groups"];
  readonly makeDriver: () => Driver;
  readonly intake: Pick<Intake, "answered" | "unanswered">;
  /** The group that shows which PLC this is: the first to be read on every connection. */
  readonly identity_group?: string;
  /** Tags with a role: the link is degraded while one of them has no usable value. */
  readonly watched_tags?: ReadonlySet<TagName>;
  readonly watch?: PollWatch;
}

/** A physical link with the booths that are polled over it. */
export interface PolledLink extends LinkMachine {
  readonly booths: readonly BoothOnLink[];
  /** The longest time that a device which doesn't answer keeps the link busy. */
  readonly probe_ms: () => Milliseconds;
  /** Delay of the first attempt. */
  readonly begins_in: Milliseconds;
  /** Reads that tools request between polls; absent: the link isn't shared. */
  readonly shared?: SharedLink | undefined;
  readonly beat?: CameRound;
  /** Called with the monotonic time of the next poll. Infinity: the loop has ended. */
  readonly due?: (at: Milliseconds) => void;
}

/**
 * Owns one physical link: connects, polls each booth's groups when they are due, and makes a new driver after each failure, with
 * backoff. Returns when the signal aborts. Only one booth or tool uses the link at a time. A booth whose device is down costs the
 * others at most `probe_ms`, at a time when no poll of theirs is due. Errors that aren't LinkErrors end the loop.
 */
export async function linkLoop(link: PolledLink, signal: AbortSignal): Promise<void> {
  const { clock } = link;
  const booths = link.booths.map((booth) => linkBooth(link, booth));
  try {
    while (!isOver(signal)) {
      const dues = booths.map((booth) => booth.dues());
      const next = nextPoll(dues, clock.mono(), link.probe_ms());
      const booth = booths[next?.booth ?? -1];
      if (next === undefined || booth === undefined) throw new LinkError("config", message("plc.setup.no_group_booth"));
      const wait = next.at - clock.mono();
      link.beat?.(Math.max(0, wait) + LOOP_MS);
      link.due?.(next.at);
      if ((await pause(link, wait, signal)) === "asked") continue;
      if (isOver(signal)) break;
      const failure = await booth.poll(signal);
      if (failure?.isOpening !== true) continue;
      // A link that can't be opened is down for every booth that waits for it: they are retried together.
      for (const other of booths) {
        if (other !== booth && other.dues().retry_at !== null) other.failed(failure.error, failure.wait);
      }
    }
  } finally {
    link.shared?.close();
    await Promise.all(booths.map((booth) => booth.close()));
    link.beat?.(Number.POSITIVE_INFINITY);
    link.due?.(Number.POSITIVE_INFINITY);
  }
}

/** Waits for the next poll, or until a tool has asked: polls of other booths can be due after that. */
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

/** Runs `linkLoop` for the booths of one physical link. */
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
      booths: booths.map((booth) => boothOnLink(booth, gateway.sealer)),
    },
    signal,
  );
}

function boothOnLink({ setup, state, link, watch, intake }: PolledBooth, sealer: Sealer): BoothOnLink {
  const serial = serialTagOf(setup.profile);
  const reasonOf = (status: LinkStatus): Text => (status.kind === "up" ? "" : status.reason);
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
      // A retry that failed the same way is no news: a PLC that is switched off would wake every loop all night.
      const isNews = status.kind !== link.plc.kind || !isSameText(reasonOf(status), reasonOf(link.plc));
      link.plc = status;
      if (isNews) state.news.raise();
    },
  };
}

/** The record has the passwords before and after a change; it doesn't say which one the PLC has now. */
function passwordsIn({ record }: ProvisioningRow, sealer: Sealer): readonly string[] {
  const { old, new: next } = record?.plc_passwords ?? { old: null, new: null };
  return [next, old].flatMap((sealed) => (sealed === null ? [] : sealer.open(sealed) || []));
}

/** Reports a booth's link: sets its status at every change, and logs what matters. */
function linkNews({ booth, address, status, setStatus, setNotes }: BoothOnLink, clock: Clock, log: Logger) {
  const logged = new Set<LinkNote["kind"]>();
  return {
    /** Shows the current notes; logs each kind once. */
    noted(notes: readonly LinkNote[]): void {
      setNotes?.(notes.map(({ text }) => text));
      for (const { kind, text } of notes) {
        if (logged.has(kind)) continue;
        logged.add(kind);
        log.info({ event: "plc_note", booth, address, note: kind }, message("plc.log.note", { booth, address, text }));
      }
    },
    /**
     * Reports an answered poll.
     * @param trouble why the link is degraded; null: it is up
     * @param started mono of the attempt
     */
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
      if (before.kind === "degraded" && isSameText(before.reason, reason)) return;
      setStatus({ kind: "degraded", since, ...trouble });
      log.warn(
        { event: "plc_degraded", booth, address, reason },
        message("plc.log.trouble", { booth, address, reason, advice }),
      );
    },
    /** Reports a failure; the next attempt follows after `wait`. */
    down(error: LinkError, attempt: number, wait: Milliseconds): void {
      const { kind, text: reason } = error;
      const before = status();
      const since = clock.wall();
      const advice = adviceFor(error, address);
      setStatus(stillDown(before, { kind: "down", since, reason, advice, attempt, next_try_at: since + wait }));
      if (before.kind === "down" && attempt !== 1) return;
      log.warn(
        { event: "plc_down", booth, address, kind },
        message("plc.log.trouble", { booth, address, reason, advice }),
      );
    },
  };
}

/**
 * A technician in front of the PLC wants to see it back at once. With the time of an attempt itself (2.5 s to connect), a PLC that is
 * back is read again within 5 s.
 */
const RETRY = { base_ms: 250, cap_ms: 2_500 };

interface LinkFailure {
  readonly error: LinkError;
  /** The link couldn't be opened, so the fault may concern every booth on it. */
  readonly isOpening: boolean;
  readonly wait: Milliseconds;
}

const NO_TAGS: ReadonlySet<TagName> = new Set();

/** Polls one booth on a link: holds its connection, its schedule, and what is known about its failures. */
function linkBooth({ clock, random, log, begins_in }: PolledLink, booth: BoothOnLink) {
  const { groups, identity_group, watch, watched_tags: watched = NO_TAGS } = booth;
  const news = linkNews(booth, clock, log);
  let schedule = scheduleFrom(groups, clock.mono());
  let attempt = 0;
  let retry_at: Milliseconds | null = clock.mono() + begins_in;
  let refusals = NO_REFUSALS;
  let unusable = NO_UNUSABLE_TAGS;
  let losses = noLosses({ asked: 0, missed: 0 }, clock.mono());
  /** Set while the PLC shows another booth's serial number. */
  let foreign: Trouble | null = null;

  const countRequests = (driver: Driver | null): void => {
    const requests = driver?.requests?.();
    if (requests === undefined) return;
    losses = withRequests(losses, requests, clock.mono());
    watch?.asked(requests);
  };
  const connection = plcConnection(booth, clock, { countRequests, isForeign: () => foreign !== null });
  /** Only groups that were `due` are rescheduled: an identity group that was read early keeps its next poll. */
  const answered = (read: GroupSamples, { due, mono }: { due: readonly string[]; mono: Milliseconds }): void => {
    countRequests(connection.driver());
    foreign = booth.intake.answered(read);
    attempt = 0;
    retry_at = null;
    for (const [group, samples] of read) {
      watch?.answered(group, samples, mono);
      refusals = withPoll(refusals, samples);
      unusable = withSamples(unusable, samples, { watched, mono });
    }
    for (const group of due) schedule = afterPoll(schedule, groups, { group, mono });
    const trouble = foreign ?? refusalTrouble(refusals) ?? unusableTrouble(unusable) ?? losses.trouble;
    news.answering(trouble, connection.started());
    news.noted(connection.driver()?.notes?.() ?? []);
    if (foreign !== null && identity_group !== undefined) {
      schedule = soonAgain(schedule, groups, { group: identity_group, mono });
    }
  };
  const failed = (error: LinkError, wait: Milliseconds): void => {
    attempt++;
    watch?.failed();
    retry_at = clock.mono() + wait;
    booth.intake.unanswered(Object.keys(groups));
    news.down(error, attempt, wait);
  };
  /** Closing in order is better than being closed in the middle of a request. */
  const isIdleTooLong = (mono: Milliseconds): boolean =>
    booth.idle_close_ms !== undefined && (nextDue(schedule, groups)?.due ?? mono) - mono >= 0.8 * booth.idle_close_ms;
  return {
    dues: (): BoothDues => ({ schedule, groups, retry_at }),
    /** Notes a failure; also called if another booth couldn't open the link. */
    failed,
    close: connection.close,
    /** Reads every group that is due by now; after a failure all groups are. Returns how the link failed; null: it didn't. */
    async poll(signal: AbortSignal): Promise<LinkFailure | null> {
      if (retry_at !== null) schedule = scheduleFrom(groups, clock.mono());
      // A timer can fire a little early.
      const begins = Math.max(clock.mono(), nextDue(schedule, groups)?.due ?? 0);
      const due = dueGroups(schedule, groups, begins);
      if (retry_at === null) watch?.began(Math.max(...due.map((group) => begins - (schedule[group] ?? begins))));
      try {
        if (due.length === 0) throw new LinkError("config", message("plc.setup.no_group"));
        const read = await connection.read(due, signal);
        answered(read, { due, mono: Math.max(begins, clock.mono()) });
        if (isIdleTooLong(clock.mono())) await connection.close();
        return null;
      } catch (error) {
        await connection.close();
        if (isOver(signal)) return null;
        if (!(error instanceof LinkError)) throw error;
        const wait = (booth.settle_ms?.() ?? 0) + fullJitter(attempt, RETRY, () => random.next());
        failed(error, wait);
        return { error, isOpening: connection.isOpening(), wait };
      }
    },
  };
}

/** Holds a booth's driver, one after the other. Samples of a new connection count only after its PLC has shown its identity. */
function plcConnection(
  { makeDriver, identity_group }: BoothOnLink,
  clock: Clock,
  reader: { readonly countRequests: (driver: Driver | null) => void; readonly isForeign: () => boolean },
) {
  let driver: Driver | null = null;
  let started = clock.mono();
  let isOpening = false;
  /** Number of reconnects when the identity was read last. */
  let identified = 0;
  const close = async (): Promise<void> => {
    reader.countRequests(driver);
    const closing = driver;
    driver = null;
    await closing?.close();
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
    isOpening = true;
    await made.open(signal);
    isOpening = false;
    // Another PLC may have the address now, so the identity is part of the first read.
    return readOver(made, identity_group === undefined ? groups : [...new Set([identity_group, ...groups])]);
  };
  /**
   * Reads over the driver or a new one. A connection that the device closed while it was idle (common after 1 to 10 s), or that another
   * booth's fault ended, is replaced at once: that is no fault of this device.
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
    driver: () => driver,
    /** Mono at which the newest attempt started. */
    started: () => started,
    /** Returns whether the attempt has not got a connection yet. */
    isOpening: () => isOpening,
    /** Reads the groups, and the identity group if the connection is new. */
    async read(groups: readonly string[], signal: AbortSignal): Promise<GroupSamples> {
      const read = await readOnce(groups, signal);
      const isKnown = identity_group === undefined || identified === (driver?.renewals?.() ?? 0);
      if (isKnown || groups.every((group) => group === identity_group)) return read;
      // After a reconnect during the poll another PLC may answer, so the identity is read before the samples count. A poll that a
      // foreign PLC started doesn't count, whichever PLC ended it.
      if (reader.isForeign()) return new Map([...read].filter(([group]) => group !== identity_group));
      return new Map([...read, ...(await readOnce([identity_group], signal))]);
    },
  };
}

/** Bounds of the histogram of lateness; the aim is 5 ms for 99 of 100 polls. */
const LATE_BOUNDS_MS = [1, 2, 5, 10, 20, 50, 100, 500, 1_000, Infinity] as const;

export type PollWatch = ReturnType<typeof createPollWatch>;

/** Remembers the newest samples and counts polls, for screens and metrics only. */
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
    /** Counts the start of a poll by its lateness. */
    began(late_ms: Milliseconds): void {
      sums.late_ms += late_ms;
      LATE_BOUNDS_MS.forEach((bound, index) => {
        if (late_ms <= bound) late[index] = (late[index] ?? 0) + 1;
      });
    },
    /** Returns the newest readings in the profile's order. */
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

/** A tool asks one thing at a time; more requests come only from several people at once. */
const MAX_WAITING = 8;

interface Waiting extends PromiseWithResolvers<Uint8Array> {
  readonly ask: PlcAsk;
  readonly since: Milliseconds;
  /** After a long wait it may delay a poll; false: it never does, and is refused soon. */
  readonly patient: boolean;
}

/** Clients of the shared connection get "busy" after this long; then they ask again. */
const IMPATIENT_MS: Milliseconds = 3_000;

/** Queues reads that tools want over a link which the agent holds; the link's own loop carries them out between polls. */
export function createSharedLink(clock: Clock, askOverLink: AskOverLink) {
  const asked = createSignal(clock);
  const waiting: Waiting[] = [];
  let isClosed = false;
  return {
    /** Returns the answer's PDU. Rejects with a LinkError. */
    async ask(ask: PlcAsk, patient = true): Promise<Uint8Array> {
      if (isClosed) throw new LinkError("closed", message("plc.closed.stopping"));
      if (waiting.length >= MAX_WAITING) throw new LinkError("busy", message("plc.busy_tools"));
      const answer = Promise.withResolvers<Uint8Array>();
      waiting.push({ ...answer, ask, since: clock.mono(), patient });
      asked.raise();
      return answer.promise;
    },
    /** Carries out the oldest request that fits before the next poll, `free_ms` away. Returns whether there was one. */
    async serve(free_ms: Milliseconds): Promise<boolean> {
      const now = clock.mono();
      for (const one of waiting.filter(({ patient, since }) => !patient && now - since > IMPATIENT_MS)) {
        waiting.splice(waiting.indexOf(one), 1);
        one.reject(new LinkError("busy", message("plc.busy_polls")));
      }
      for (const [index, next] of waiting.entries()) {
        const within_ms = fitsBetween(free_ms, next.patient ? now - next.since : 0);
        if (within_ms === null) continue;
        waiting.splice(index, 1);
        await askOverLink(next.ask, within_ms).then(next.resolve, next.reject);
        return true;
      }
      return false;
    },
    /** Waits for this time or until a tool asks. Never rejects. */
    rest: (ms: Milliseconds, signal: AbortSignal) => asked.wait(signal, ms).catch(() => undefined),
    /** Rejects all requests, because the loop has ended. */
    close(): void {
      isClosed = true;
      for (const { reject } of waiting.splice(0)) reject(new LinkError("closed", message("plc.closed.stopping")));
    },
  };
}

type SharedLink = ReturnType<typeof createSharedLink>;

/** Returns the name of the physical link that a booth is polled over. */
export function linkOf({ link, config }: Pick<BoothSetup, "link" | "config">): string {
  return link ?? config.id;
}

/** Keeps the list of the agent's links that tools may use. */
export function createSharedLinks(clock: Clock) {
  const links = new Map<string, { readonly units: readonly number[]; readonly shared: SharedLink }>();
  return {
    /** Adds a link with these booths. Returns undefined if it can't be shared. */
    begun(link: string, booths: readonly Pick<PolledBooth, "setup">[]): SharedLink | undefined {
      const shareable = booths.flatMap(({ setup }) => setup.shared ?? []);
      const [first] = shareable;
      if (first === undefined) return undefined;
      const shared = createSharedLink(clock, first.ask);
      links.set(link, { units: [...new Set(shareable.map(({ unit }) => unit))], shared });
      return shared;
    },
    ended: (link: string): void => void links.delete(link),
    sharedLinks: (): readonly LinkToShare[] => [...links].map(([link, { units }]) => ({ link, units })),
    askPlc: async (link: string, ask: PlcAsk, patient = true): Promise<Uint8Array> => {
      const shared = links.get(link)?.shared;
      if (shared === undefined) throw new LinkError("config", message("plc.setup.no_link", { link }));
      return shared.ask(ask, patient);
    },
  };
}
