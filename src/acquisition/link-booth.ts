import { fullJitter } from "../domain/retrying.ts";
import { adviceFor, LinkError } from "../domain/link-error.ts";
import { stillDown } from "../domain/link-status.ts";
import type { Clock, Logger, Random } from "../domain/machine.ts";
import type { Parameters } from "../domain/parameters.ts";
import type { Sample } from "../domain/taken.ts";
import { isOver } from "../domain/signal.ts";
import type { LinkStatus, Trouble } from "../domain/status.ts";
import type { Milliseconds, TagName } from "../domain/units.ts";
import type { Intake } from "./intake.ts";
import type { Driver, GroupSamples, LinkNote } from "./port.ts";
import { NO_REFUSALS, noLosses, refusalTrouble, withPoll, withRequests } from "./rules/link-trouble.ts";
import { NO_UNUSABLE_TAGS, unusableTrouble, withSamples } from "./rules/link-trouble.ts";
import { afterPoll, type BoothDues, dueGroups, nextDue, scheduleFrom, soonAgain } from "./rules/schedule.ts";
import type { BoothCounts, LiveReading, RequestCounts } from "../domain/agent-control.ts";
import type { Profile } from "../domain/profile.ts";

/** What a link's loop has of the machine. */
export interface LinkMachine {
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

export interface LinkFailure {
  readonly error: LinkError;
  /** The link couldn't be opened, so the fault may be nobody's in particular. */
  readonly opening: boolean;
  readonly wait: Milliseconds;
}

export type LinkBooth = ReturnType<typeof linkBooth>;

const NO_TAGS: ReadonlySet<TagName> = new Set();

/**
 * One booth on a link: its connection, its rhythm, what is known of its life.
 * @param begins_in the first attempt is made so much later
 */
export function linkBooth({ clock, random, log }: LinkMachine, booth: BoothOnLink, begins_in: Milliseconds) {
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
