import { fullJitter } from "../domain/backoff.ts";
import { adviceFor, LinkError } from "../domain/link-error.ts";
import { noLosses, withRequests, type Losses } from "./rules/losses.ts";
import { NO_REFUSALS, refusalTrouble, withPoll, type Refusals } from "./rules/refusals.ts";
import { afterPoll, nextDue, scheduleFrom, soonAgain, type BoothDues, type Schedule } from "./rules/schedule.ts";
import type { Sample } from "../domain/sample.ts";
import type { LinkStatus, Trouble } from "../domain/status.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { Clock, Logger, Random } from "../domain/machine.ts";
import type { Driver } from "./port.ts";
import { isOver } from "../domain/signal.ts";
import type { Parameters } from "../domain/parameters.ts";
import type { Intake } from "./intake.ts";
import type { PollWatch } from "./poll-watch.ts";
import { stillDown } from "../runtime/booth-state.ts";

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

/** One booth on a link: its connection, its rhythm, what is known of its life. */
export interface LinkBooth {
  turns(): BoothDues;
  /** Polls a group; null: connects first and polls the most urgent one. Gives what went wrong with the link. */
  take(group: string | null, signal: AbortSignal): Promise<LinkFailure | null>;
  /** Another booth found the link dead. */
  failed(error: LinkError, wait: Milliseconds): void;
  close(): Promise<void>;
}

interface Life {
  driver: Driver | null;
  schedule: Schedule;
  attempt: number;
  retry_at: Milliseconds | null;
  /** Of the attempt that goes on, or of the last one. */
  started: Milliseconds;
  opening: boolean;
  refusals: Refusals;
  losses: Losses;
  /** The PLC is another booth's, as it said last. */
  foreign: Trouble | null;
  /** How often its connection had been made anew when it was asked who it is. */
  identified: number;
}

function newLife(
  groups: LinkBoothParts["groups"],
  { now, begins_in }: { readonly now: Milliseconds; readonly begins_in: Milliseconds },
): Life {
  return {
    driver: null,
    schedule: scheduleFrom(groups, now),
    attempt: 0,
    retry_at: now + begins_in,
    started: now,
    opening: false,
    refusals: NO_REFUSALS,
    losses: noLosses({ asked: 0, missed: 0 }, now),
    foreign: null,
    identified: 0,
  };
}

/** @param begins_in the first attempt is made so much later */
export function linkBooth(tools: LinkTools, parts: LinkBoothParts, begins_in: Milliseconds): LinkBooth {
  const { clock } = tools;
  const { groups } = parts;
  const life = newLife(groups, { now: clock.mono(), begins_in });
  const counted = (): void => {
    const requests = life.driver?.requests?.();
    if (requests === undefined) return;
    life.losses = withRequests(life.losses, requests, clock.mono());
    parts.watch?.asked(requests);
  };
  const close = async (): Promise<void> => {
    counted();
    const { driver } = life;
    life.driver = null;
    await driver?.close();
  };
  const failed = (error: LinkError, wait: Milliseconds): void => {
    life.attempt++;
    parts.watch?.failed();
    life.retry_at = clock.mono() + wait;
    tellDown(tools, parts, { error, attempt: life.attempt, wait });
  };
  const answered = (group: string, samples: readonly Sample[]): void => {
    const mono = clock.mono();
    counted();
    const foreign = parts.intake.answered(group, samples);
    life.foreign = foreign;
    parts.watch?.answered(group, samples, mono);
    life.attempt = 0;
    life.retry_at = null;
    life.refusals = withPoll(life.refusals, group, samples);
    const trouble = foreign ?? refusalTrouble(life.refusals) ?? life.losses.trouble;
    tellAnswering(tools, parts, { trouble, started: life.started });
    // What was read ahead of its time, for the identity, doesn't put off the turn that is due later.
    if ((life.schedule[group] ?? mono) <= mono) life.schedule = afterPoll(life.schedule, groups, { group, mono });
    const { identity_group } = parts;
    if (foreign === null || identity_group === undefined) return;
    life.schedule = soonAgain(life.schedule, groups, { group: identity_group, mono });
  };
  const take = async (wanted: string | null, signal: AbortSignal): Promise<LinkFailure | null> => {
    if (wanted === null) life.schedule = scheduleFrom(groups, clock.mono());
    const group = wanted ?? nextDue(life.schedule, groups)?.group;
    try {
      if (group === undefined) throw new LinkError("config", "the profile has no poll group");
      const link = { parts, clock, life, close, answered };
      const samples = await readWithRenewal(link, group, signal);
      await lookAgain(link, group, signal);
      answered(group, samples);
      if (restsTooLong(parts, life, clock.mono())) await close();
      return null;
    } catch (error) {
      await close();
      if (isOver(signal)) return null;
      if (!(error instanceof LinkError)) throw error;
      const wait = (parts.settle_ms?.() ?? 0) + fullJitter(life.attempt, RETRY, () => tools.random.next());
      failed(error, wait);
      return { error, opening: life.opening, wait };
    }
  };
  return { turns: () => ({ schedule: life.schedule, groups, retry_at: life.retry_at }), take, failed, close };
}

interface Connecting {
  readonly parts: LinkBoothParts;
  readonly clock: Clock;
  readonly life: Life;
  readonly close: () => Promise<void>;
  readonly answered: (group: string, samples: readonly Sample[]) => void;
}

/**
 * Reads over the connection that there is, or over a new one. A connection that the device closed while it rested
 * (common after 1 to 10 s), or that another booth's fault ended, is made anew at once: that is no fault of this device.
 */
async function readWithRenewal(link: Connecting, group: string, signal: AbortSignal): Promise<readonly Sample[]> {
  const { driver } = link.life;
  if (driver === null) return readAnew(link, group, signal);
  try {
    return await readOf(link, driver, { group, signal });
  } catch (error) {
    if (isOver(signal) || !(error instanceof LinkError) || error.kind !== "closed") throw error;
    await link.close();
    return readAnew(link, group, signal);
  }
}

async function readAnew(link: Connecting, group: string, signal: AbortSignal): Promise<readonly Sample[]> {
  const { parts, clock, life } = link;
  const driver = parts.makeDriver();
  life.driver = driver;
  life.started = clock.mono();
  life.opening = true;
  await driver.open(signal);
  life.opening = false;
  const { identity_group } = parts;
  // Another PLC may stand at the address since the last connection: nothing counts before it has shown who it is.
  if (identity_group !== undefined && identity_group !== group) {
    link.answered(identity_group, await readOf(link, driver, { group: identity_group, signal }));
  }
  return readOf(link, driver, { group, signal });
}

async function readOf(
  { parts, life }: Connecting,
  driver: Driver,
  { group, signal }: { readonly group: string; readonly signal: AbortSignal },
): Promise<readonly Sample[]> {
  const renewals = driver.renewals?.() ?? 0;
  const samples = await driver.read(group, signal);
  if (group === parts.identity_group) life.identified = renewals;
  return samples;
}

/**
 * After a connection was made anew in the midst of a poll another PLC may stand at the address: it shows who it is before what
 * was read there counts. A poll that another booth's PLC began doesn't count, whoever ended it.
 */
async function lookAgain(link: Connecting, group: string, signal: AbortSignal): Promise<void> {
  const { parts, life } = link;
  const { identity_group } = parts;
  if (identity_group === undefined || identity_group === group || life.foreign !== null) return;
  if (life.identified === (life.driver?.renewals?.() ?? 0)) return;
  link.answered(identity_group, await readWithRenewal(link, identity_group, signal));
}

/** Better to close in order than to be closed in the middle of a request. */
function restsTooLong({ groups, idle_close_ms }: LinkBoothParts, life: Life, mono: Milliseconds): boolean {
  if (idle_close_ms === undefined) return false;
  const due = nextDue(life.schedule, groups)?.due ?? mono;
  return due - mono >= 0.8 * idle_close_ms;
}

export interface LinkTools {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

export interface LinkBoothParts {
  /** The booth as the configuration names it. */
  readonly booth: string;
  readonly address: string;
  readonly groups: Parameters["groups"];
  readonly makeDriver: () => Driver;
  readonly intake: Omit<Intake, "logAnew">;
  /** The group that shows which PLC this is: the first to be read on every connection. */
  readonly identity_group?: string;
  readonly status: () => LinkStatus;
  readonly setStatus: (status: LinkStatus) => void;
  /** Whoever shows polls to people; absent: nobody does. */
  readonly watch?: PollWatch;
  /** After a failure the device is left alone for so long, beside the back-off. */
  readonly settle_ms?: () => Milliseconds;
  /** The device closes connections that rest for so long. */
  readonly idle_close_ms?: Milliseconds;
}

/** What people are told of a booth's link: its status at every change, and a line in the log where it matters. */

/** A poll was answered. `trouble`: why that isn't all that it should be; null: it is. */
export function tellAnswering(
  { clock, log }: LinkTools,
  parts: LinkBoothParts,
  { trouble, started }: { readonly trouble: Trouble | null; readonly started: Milliseconds },
): void {
  const { booth, address } = parts;
  const before = parts.status();
  if (before.kind === "down") {
    const took_ms = clock.mono() - started;
    log.info({ event: "plc_up", booth, address, took_ms }, `${booth}: PLC answers at ${address}`);
  }
  const now = clock.wall();
  if (trouble === null) {
    if (before.kind === "up") return;
    parts.setStatus({ kind: "up", since: now });
    if (before.kind === "degraded") log.info({ event: "plc_well", booth }, `${booth}: all of the PLC is read again`);
    return;
  }
  if (isSame(before, trouble)) return;
  parts.setStatus({ kind: "degraded", since: now, ...trouble });
  const { reason, advice } = trouble;
  log.warn({ event: "plc_degraded", booth, address, reason }, `${booth}: PLC at ${address}: ${reason}; ${advice}`);
}

function isSame(before: LinkStatus, { reason }: Trouble): boolean {
  return before.kind === "degraded" && before.reason === reason;
}

/** It failed, and is tried again after `wait`. */
export function tellDown(
  { clock, log }: LinkTools,
  parts: LinkBoothParts,
  failure: { readonly error: LinkError; readonly attempt: number; readonly wait: Milliseconds },
): void {
  const { error, attempt, wait } = failure;
  const now = clock.wall();
  const before = parts.status();
  parts.intake.unanswered(Object.keys(parts.groups));
  const down = {
    kind: "down",
    since: now,
    reason: error.message,
    advice: adviceFor(error.kind),
    attempt,
    next_try_at: now + wait,
  } as const;
  parts.setStatus(stillDown(before, down));
  if (before.kind !== "down" || attempt === 1) {
    log.warn(
      { event: "plc_down", booth: parts.booth, address: parts.address, kind: error.kind },
      `${parts.booth}: PLC at ${parts.address}: ${error.message}; ${down.advice}`,
    );
  }
}
