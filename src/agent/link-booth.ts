import { fullJitter } from "../core/backoff.ts";
import { LinkError } from "../core/link-error.ts";
import { NO_REFUSALS, refusalTrouble, withPoll, type Refusals } from "../core/refusals.ts";
import { afterPoll, nextDue, scheduleFrom, soonAgain, type BoothTurns, type Schedule } from "../core/schedule.ts";
import type { Sample } from "../core/types/sample.ts";
import type { Milliseconds } from "../core/types/units.ts";
import type { Clock, Driver } from "../ports.ts";
import { isOver } from "./bell.ts";
import { tellAnswering, tellDown } from "./link-news.ts";
import type { LinkBoothParts, LinkTools } from "./link-parts.ts";

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
  turns(): BoothTurns;
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
}

/** @param begins_in the first attempt is made so much later */
export function linkBooth(tools: LinkTools, parts: LinkBoothParts, begins_in: Milliseconds): LinkBooth {
  const { clock } = tools;
  const { groups } = parts;
  const now = clock.mono();
  const life: Life = {
    driver: null,
    schedule: scheduleFrom(groups, now),
    attempt: 0,
    retry_at: now + begins_in,
    started: now,
    opening: false,
    refusals: NO_REFUSALS,
  };
  const close = async (): Promise<void> => {
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
    const foreign = parts.intake.answered(group, samples);
    parts.watch?.answered(group, samples, mono);
    life.attempt = 0;
    life.retry_at = null;
    life.refusals = withPoll(life.refusals, group, samples);
    tellAnswering(tools, parts, { trouble: foreign ?? refusalTrouble(life.refusals), started: life.started });
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
      answered(group, await readWithRenewal({ parts, clock, life, close, answered }, group, signal));
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
    return await driver.read(group, signal);
  } catch (error) {
    if (isOver(signal) || !(error instanceof LinkError) || error.kind !== "closed") throw error;
    await link.close();
    return readAnew(link, group, signal);
  }
}

async function readAnew(
  { parts, clock, life, answered }: Connecting,
  group: string,
  signal: AbortSignal,
): Promise<readonly Sample[]> {
  const driver = parts.makeDriver();
  life.driver = driver;
  life.started = clock.mono();
  life.opening = true;
  await driver.open(signal);
  life.opening = false;
  const { identity_group } = parts;
  // Another PLC may stand at the address since the last connection: nothing counts before it has shown who it is.
  if (identity_group !== undefined && identity_group !== group) {
    answered(identity_group, await driver.read(identity_group, signal));
  }
  return driver.read(group, signal);
}

/** Better to close in order than to be closed in the middle of a request. */
function restsTooLong({ groups, idle_close_ms }: LinkBoothParts, life: Life, mono: Milliseconds): boolean {
  if (idle_close_ms === undefined) return false;
  const due = nextDue(life.schedule, groups)?.due ?? mono;
  return due - mono >= 0.8 * idle_close_ms;
}
