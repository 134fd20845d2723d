import { adviceFor } from "../core/advice.ts";
import { fullJitter } from "../core/backoff.ts";
import { LinkError } from "../core/link-error.ts";
import { afterPoll, nextDue, scheduleFrom } from "../core/schedule.ts";
import type { Parameters } from "../core/types/parameters.ts";
import type { LinkStatus } from "../core/types/status.ts";
import type { Clock, Driver, Logger, Random } from "../ports.ts";
import { isOver } from "./bell.ts";
import { stillDown } from "./board.ts";
import type { Intake } from "./intake.ts";

/** A PLC is a few metres away: whoever stands before it wants to see it back at once. */
const RETRY = { base_ms: 250, cap_ms: 5_000 };

export interface LinkParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly address: string;
  readonly groups: Parameters["groups"];
  readonly makeDriver: () => Driver;
  readonly intake: Intake;
  readonly status: () => LinkStatus;
  readonly setStatus: (status: LinkStatus) => void;
}

/** Owns one physical link: connects, polls, and after any failure makes everything anew. Returns when aborted. */
export async function linkLoop(parts: LinkParts, signal: AbortSignal): Promise<void> {
  let attempt = 0;
  while (!isOver(signal)) {
    const driver = parts.makeDriver();
    try {
      const started = parts.clock.mono();
      await driver.open(signal);
      const answered = (): void => {
        attempt = 0;
        linkIsUp(parts, started);
      };
      await pollLoop(parts, { driver, answered }, signal);
    } catch (error) {
      if (isOver(signal)) break;
      const wait = fullJitter(attempt, RETRY, () => parts.random.next());
      linkIsDown(parts, { error, attempt: ++attempt, wait });
      await parts.clock.sleep(wait, signal).catch(() => undefined);
    } finally {
      await driver.close();
    }
  }
}

/** A connected driver, and what to do after each good poll. */
interface OpenLink {
  readonly driver: Driver;
  readonly answered: () => void;
}

/** Polls each group in its turn until the link fails. */
async function pollLoop(parts: LinkParts, { driver, answered }: OpenLink, signal: AbortSignal): Promise<never> {
  const { clock, groups } = parts;
  let schedule = scheduleFrom(groups, clock.mono());
  for (;;) {
    const next = nextDue(schedule, groups);
    if (next === undefined) throw new LinkError("config", "the profile has no poll group");
    const wait = next.due - clock.mono();
    if (wait > 0) await clock.sleep(wait, signal);
    const samples = await driver.read(next.group, signal);
    parts.intake.answered(next.group, samples);
    answered();
    schedule = afterPoll(schedule, groups, { group: next.group, mono: clock.mono() });
  }
}

function linkIsUp(parts: LinkParts, started: number): void {
  if (parts.status().kind === "up") return;
  parts.setStatus({ kind: "up", since: parts.clock.wall() });
  const took_ms = parts.clock.mono() - started;
  parts.log.info({ event: "plc_up", address: parts.address, took_ms }, `PLC answers at ${parts.address}`);
}

function linkIsDown(parts: LinkParts, failure: { error: unknown; attempt: number; wait: number }): void {
  const { error } = failure;
  if (!(error instanceof LinkError)) throw error;
  const now = parts.clock.wall();
  const before = parts.status();
  parts.intake.unanswered(Object.keys(parts.groups));
  const down = {
    kind: "down",
    since: now,
    reason: error.message,
    advice: adviceFor(error.kind),
    attempt: failure.attempt,
    next_try_at: now + failure.wait,
  } as const;
  parts.setStatus(stillDown(before, down));
  if (before.kind === "up" || failure.attempt === 1) {
    parts.log.warn(
      { event: "plc_down", address: parts.address, kind: error.kind },
      `PLC at ${parts.address}: ${error.message}; ${down.advice}`,
    );
  }
}
