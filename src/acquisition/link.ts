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

/**
 * A physical link and the booths that are polled over it. First the loop of the link, then one booth's part of the loop, then reads for
 * tools.
 */

/** Timing that a device needs from its link. */
interface LinkManners {
  /** Returns how long the device must not be contacted after a failure, in addition to the backoff. */
  readonly settle_ms?: () => Milliseconds;
  /** Idle time after which the device closes a connection. Absent: it keeps connections. */
  readonly idle_close_ms?: Milliseconds;
}

/** A configured booth, with the values that follow from its profile and the gateway's configuration. */
export interface BoothSetup extends LinkManners {
  readonly config: BoothConfig;
  readonly profile: Profile;
  readonly parameters: Parameters;
  readonly address: string;
  readonly makeDriver: (passwords: PlcPasswords) => Driver;
  /**
   * Name of the physical link. Booths with the same name share a link, which one booth uses at a time. Absent: the booth has its own link.
   */
  readonly link?: string;
  /**
   * Access for tools that read over the booth's link between polls: the Modbus unit id, and the function that sends a request. Absent:
   * tools can't share the link.
   */
  readonly shared?: { readonly unit: number; readonly ask: AskOverLink };
  /** The newest words that the booth's polls have read. Absent: they are not collected. */
  readonly polled?: PolledWords;
  /** Returns the longest time that the device keeps its link busy without an answer. */
  readonly probe_ms?: () => Milliseconds;
}

/** A booth, for the loops that poll it and write its log. */
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

/** A booth, for the loop of its link. */
export interface BoothOnLink extends LinkManners {
  /** The booth's id in the configuration. */
  readonly booth: string;
  readonly address: string;
  readonly status: () => LinkStatus;
  readonly setStatus: (status: LinkStatus) => void;
  /** Called at each poll with the device's peculiarities, as texts for `status`. */
  readonly setNotes?: (notes: readonly Text[]) => void;
  readonly groups: Parameters["groups"];
  readonly makeDriver: () => Driver;
  readonly intake: Pick<Intake, "answered" | "unanswered">;
  /** The group with the PLC's serial number, which identifies the PLC. It is read first on every connection. */
  readonly identity_group?: string;
  /** Tags with a role. The link is degraded while a watched tag has no usable value. */
  readonly watched_tags?: ReadonlySet<TagName>;
  readonly watch?: PollWatch;
}

/** A physical link and the booths that are polled over it. */
export interface PolledLink extends LinkMachine {
  readonly booths: readonly BoothOnLink[];
  /** Returns the longest time that a device that doesn't answer keeps the link busy. */
  readonly probe_ms: () => Milliseconds;
  /** Delay of the first attempt. */
  readonly begins_in: Milliseconds;
  /** Reads that tools request between polls. Absent: tools can't share the link. */
  readonly shared?: SharedLink | undefined;
  readonly beat?: CameRound;
  /** Called with the monotonic time of the next poll. Infinity: the loop has ended. */
  readonly due?: (at: Milliseconds) => void;
}

/**
 * Runs one physical link: connects, polls each booth's groups when they are due, and makes a new driver after each failure, with backoff.
 * Returns when the signal aborts. Only one booth or tool uses the link at a time. A booth whose device is down delays the other booths by
 * at most `probe_ms`, usually when they have no poll due. Errors that aren't LinkErrors end the loop.
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
      // Notes the failure for every booth that waits for this link. All these booths are retried together.
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

/**
 * Waits for the next poll, or until a tool has asked. "asked": the caller must determine the next poll again, because another booth's poll
 * may be due.
 */
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
      // Reports a failed retry only if its reason has changed. Otherwise a PLC that is switched off would wake every loop all night.
      const isNews = status.kind !== link.plc.kind || !isSameText(reasonOf(status), reasonOf(link.plc));
      link.plc = status;
      if (isNews) state.news.raise();
    },
  };
}

/** Returns the PLC's passwords before and after a change. The service's record doesn't say which of them the PLC has now. */
function passwordsIn({ record }: ProvisioningRow, sealer: Sealer): readonly string[] {
  const { old, new: next } = record?.plc_passwords ?? { old: null, new: null };
  return [next, old].flatMap((sealed) => (sealed === null ? [] : sealer.open(sealed) || []));
}

/** Reports the state of a booth's link: sets its status at every change, and logs important changes. */
function linkNews({ booth, address, status, setStatus, setNotes }: BoothOnLink, clock: Clock, log: Logger) {
  const logged = new Set<LinkNote["kind"]>();
  return {
    /** Shows the current notes. Logs each kind of note once. */
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
     * @param trouble why the link is degraded; null: the link is up
     * @param started monotonic time of the attempt
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
    /** Reports a failure. The next attempt follows after `wait`. */
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
 * Backoff between attempts. It is short, because a technician in front of the PLC wants to see its data at once. With up to 2.5 s for the
 * connection itself, a PLC that is back is read within 5 s.
 */
const RETRY = { base_ms: 250, cap_ms: 2_500 };

interface LinkFailure {
  readonly error: LinkError;
  /** True if the link couldn't be opened. The fault may then concern every booth on the link. */
  readonly isOpening: boolean;
  readonly wait: Milliseconds;
}

const NO_TAGS: ReadonlySet<TagName> = new Set();

/** Polls one booth on a link. Holds the booth's connection, schedule and failures. */
function linkBooth({ clock, random, log, begins_in }: PolledLink, booth: BoothOnLink) {
  const { groups, identity_group, watch, watched_tags: watched = NO_TAGS } = booth;
  const news = linkNews(booth, clock, log);
  let schedule = scheduleFrom(groups, clock.mono());
  let attempt = 0;
  let retry_at: Milliseconds | null = clock.mono() + begins_in;
  let refusals = NO_REFUSALS;
  let unusable = NO_UNUSABLE_TAGS;
  let losses = noLosses({ asked: 0, missed: 0 }, clock.mono());
  /** Why the PLC's samples don't count: it shows another booth's serial number. null: the PLC isn't foreign. */
  let foreign: Trouble | null = null;

  const countRequests = (driver: Driver | null): void => {
    const requests = driver?.requests?.();
    if (requests === undefined) return;
    losses = withRequests(losses, requests, clock.mono());
    watch?.asked(requests);
  };
  const connection = plcConnection(booth, clock, { countRequests, isForeign: () => foreign !== null });
  /**
   * Handles the answers of a poll. Only groups that were `due` are rescheduled: an identity group that was read early keeps its due time.
   */
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
  /**
   * Returns whether the device would close the connection before the next poll. The gateway then closes it first, so that no request is cut
   * off.
   */
  const isIdleTooLong = (mono: Milliseconds): boolean =>
    booth.idle_close_ms !== undefined && (nextDue(schedule, groups)?.due ?? mono) - mono >= 0.8 * booth.idle_close_ms;
  return {
    dues: (): BoothDues => ({ schedule, groups, retry_at }),
    /** Notes a failure. Also called if another booth couldn't open the link. */
    failed,
    close: connection.close,
    /** Reads every group that is due by now; after a failure, every group. Returns the failure of the link; null: the poll succeeded. */
    async poll(signal: AbortSignal): Promise<LinkFailure | null> {
      if (retry_at !== null) schedule = scheduleFrom(groups, clock.mono());
      // Uses the due time if a timer has fired slightly early.
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

/**
 * Holds a booth's current driver, and replaces it after a failure. Samples of a new connection count only after the PLC has shown its
 * identity.
 */
function plcConnection(
  { makeDriver, identity_group }: BoothOnLink,
  clock: Clock,
  reader: { readonly countRequests: (driver: Driver | null) => void; readonly isForeign: () => boolean },
) {
  let driver: Driver | null = null;
  let started = clock.mono();
  let isOpening = false;
  /** Number of reconnects when the identity was last read. */
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
    // Includes the identity group in the first read, because another PLC may have the address now.
    return readOver(made, identity_group === undefined ? groups : [...new Set([identity_group, ...groups])]);
  };
  /**
   * Reads over the current driver or a new driver. Replaces a connection at once if the device closed it while it was idle (common after 1
   * to 10 s). Does the same if another booth's fault ended the connection. Neither is a fault of this device.
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
    /** Returns the monotonic time at which the newest attempt started. */
    started: () => started,
    /** Returns whether the attempt has no connection yet. */
    isOpening: () => isOpening,
    /** Reads the groups. On a new connection, also reads the identity group. */
    async read(groups: readonly string[], signal: AbortSignal): Promise<GroupSamples> {
      const read = await readOnce(groups, signal);
      const isKnown = identity_group === undefined || identified === (driver?.renewals?.() ?? 0);
      if (isKnown || groups.every((group) => group === identity_group)) return read;
      // Reads the identity before the samples count, because another PLC may answer after a reconnect during the poll. If the PLC was
      // foreign when the poll started, the identity is removed from the result. The whole poll then counts as foreign, whichever PLC
      // answered last.
      if (reader.isForeign()) return new Map([...read].filter(([group]) => group !== identity_group));
      return new Map([...read, ...(await readOnce([identity_group], signal))]);
    },
  };
}

/** Upper bounds of the histogram of late polls. The goal is a delay below 5 ms for 99 of 100 polls. */
const LATE_BOUNDS_MS = [1, 2, 5, 10, 20, 50, 100, 500, 1_000, Infinity] as const;

export type PollWatch = ReturnType<typeof createPollWatch>;

/** Remembers the newest samples and counts polls, only for displays and metrics. */
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
    /** Counts the start of a poll by its delay. */
    began(late_ms: Milliseconds): void {
      sums.late_ms += late_ms;
      LATE_BOUNDS_MS.forEach((bound, index) => {
        if (late_ms <= bound) late[index] = (late[index] ?? 0) + 1;
      });
    },
    /** Returns the newest reading of each tag, in the profile's order. */
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

/** Maximum number of waiting requests. A tool sends one request at a time, so more requests come from several people at once. */
const MAX_WAITING = 8;

interface Waiting extends PromiseWithResolvers<Uint8Array> {
  readonly ask: PlcAsk;
  readonly since: Milliseconds;
  /** True: after a long wait the request may delay a poll. False: it never delays a poll, and is rejected after `IMPATIENT_MS`. */
  readonly patient: boolean;
}

/** Longest wait of a client of the shared connection. Then the client gets "busy" and may ask again. */
const IMPATIENT_MS: Milliseconds = 3_000;

/** Queues the reads of tools over a link that the agent holds. The link's loop carries them out between polls. */
export function createSharedLink(clock: Clock, askOverLink: AskOverLink) {
  const asked = createSignal(clock);
  const waiting: Waiting[] = [];
  let isClosed = false;
  return {
    /** Requests a read. Returns the PDU of the answer. Rejects with a LinkError. */
    async ask(ask: PlcAsk, patient = true): Promise<Uint8Array> {
      if (isClosed) throw new LinkError("closed", message("plc.closed.stopping"));
      if (waiting.length >= MAX_WAITING) throw new LinkError("busy", message("plc.busy_tools"));
      const answer = Promise.withResolvers<Uint8Array>();
      waiting.push({ ...answer, ask, since: clock.mono(), patient });
      asked.raise();
      return answer.promise;
    },
    /**
     * Carries out the oldest request that fits before the next poll, which is due in `free_ms`. Returns whether a request was carried out.
     */
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
    /** Waits for this time, or until a tool asks. Never rejects. */
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
    /** Adds a link with these booths. Returns undefined if tools can't share the link. */
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
