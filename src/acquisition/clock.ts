import type { BoothState, LogState } from "../domain/booth-state.ts";
import type { Clock, Logger } from "../domain/machine.ts";
import { KIND, type ClockRecord } from "../domain/record.ts";
import type { ClockVerdict, KnownOffset, ServiceTime } from "../domain/service-time.ts";
import type { TakenEntry } from "../domain/taken.ts";
import type { BootId, EpochMs, Milliseconds } from "../domain/units.ts";
import type { Intake } from "./intake.ts";
import {
  type ClockReading,
  clockText,
  type Heard,
  isDisputed,
  isPlausible,
  startWatch,
  watchClock,
  withHeard,
} from "./rules/clock-watch.ts";

/** Interval of the checks. It may be long, because a step of the wall clock is only logged and moves nothing by itself. */
const CHECK_EVERY_MS: Milliseconds = 5000;
/**
 * Largest lead of the log's time over the corrected time. If the lead is larger, the log's time stands still until the corrected time
 * catches up.
 */
const AHEAD_MS: Milliseconds = 5000;
/** Interval of HTTP requests while the time is unconfirmed. After `ASK_OFTEN` unsuccessful requests, the interval is `ASK_SELDOM_MS`. */
const ASK_EVERY_MS: Milliseconds = 30_000;
const ASK_SELDOM_MS: Milliseconds = 900_000;
const ASK_OFTEN = 10;

interface ClockWatching {
  readonly clock: Clock;
  readonly log: Logger;
  readonly service_time: HeardTime;
  readonly booths: readonly { readonly clock: BoothClock; readonly state: BoothState }[];
}

/** Compares the wall clock with elapsed time and with the service's clock, and makes every booth log the result. Runs until aborted. */
export async function clockLoop(watching: ClockWatching, signal: AbortSignal): Promise<never> {
  const { clock, log, booths, service_time } = watching;
  const ask = httpAsker(watching);
  let logged = "";
  for (;;) {
    const { built_at } = service_time;
    const now = { mono: clock.mono(), wall: clock.wall(), kernel: clock.synced() };
    const reading = { ...now, heard: service_time.said(), built_at };
    for (const booth of booths) {
      const text = booth.clock.check(reading);
      if (text !== null && text !== logged) log.info({ event: "clock", booth: booth.state.booth }, text);
      logged = text ?? logged;
    }
    service_time.judged(verdictOf(watching));
    ask();
    await clock.sleep(CHECK_EVERY_MS, signal);
  }
}

/** Returns the state of the clock for display. A time that stands still, or that is far from the service's answers, isn't synchronized. */
function verdictOf({ booths, clock, service_time }: ClockWatching): ClockVerdict {
  const [booth] = booths;
  const watch = booth?.clock.watch();
  if (booth === undefined || watch?.synced !== true) return { synced: false, offset_ms: null };
  const { log } = booth.state;
  const right = clock.mono() + watch.offset;
  const reached = log.reached();
  const isStanding = reached !== null && reached - right > AHEAD_MS;
  const offset_ms = (isStanding ? log.now() : right) - clock.wall();
  return { synced: !isStanding && !isDisputed(watch, { heard: service_time.said() }), offset_ms };
}

/**
 * Returns a function that triggers an HTTP request to the service while the time is unconfirmed. Otherwise such requests happen only a few
 * times a day.
 */
function httpAsker({ booths, clock, service_time }: ClockWatching): () => void {
  let asked = 0;
  let next = clock.mono() + ASK_EVERY_MS;
  return () => {
    const [booth] = booths;
    const watch = booth?.clock.watch();
    const isOpen =
      watch?.synced === true && (watch.vouched === null || isDisputed(watch, { heard: service_time.said() }));
    if (booth === undefined || !isOpen) {
      asked = 0;
      return;
    }
    if (clock.mono() < next) return;
    asked += 1;
    next = clock.mono() + (asked < ASK_OFTEN ? ASK_EVERY_MS : ASK_SELDOM_MS);
    booth.state.binding.lookAgain();
    booth.state.news.raise();
  };
}

/** The watch on the clock for one booth. */
export type BoothClock = ReturnType<typeof openClock>;

/** Logs the clock at the start, and watches it for one booth. */
export function openClock(
  clock: Clock,
  { log, intake, leftover }: { log: LogState; intake: Pick<Intake, "record">; leftover: readonly TakenEntry[] },
) {
  const write = (value: ClockRecord["value"]): void =>
    intake.record((when) => ({ kind: KIND.clock, ...when, tag: "", value, quality: "good" }));
  // Returns the last known time, which is used while a boot has no time of its own.
  let committed: EpochMs | null = null;
  const committedUntil = (): EpochMs | null => (committed = log.reached() ?? committed);
  const started = startWatch(syncedIn(leftover, clock.boot) ?? log.syncedOffset(clock.boot), {
    mono: clock.mono(),
    wall: clock.wall(),
    kernel: clock.synced(),
    heard: [],
    committed: committedUntil(),
  });
  let { watch } = started;
  write(started.value);
  return {
    watch: () => watch,
    /** Logs the result of a check. Returns the result as text; null if nothing has changed. */
    check(reading: ClockReading): string | null {
      const before = watch;
      const { watch: after, value } = watchClock(before, { ...reading, committed: committedUntil() });
      watch = after;
      if (value === null) return null;
      write(value);
      return clockText(before, after, value);
    },
  };
}

/** Finds the newest synchronization of this boot that was not committed because of a crash. */
function syncedIn(leftover: readonly TakenEntry[], boot: BootId): KnownOffset | null {
  const records = leftover.map((entry) => (entry.kind === "record" ? entry.record : null));
  const sync = records.findLast(
    (record) => record?.kind === KIND.clock && record.boot === boot && record.value.state === "synced",
  );
  return sync?.kind === KIND.clock ? { offset: sync.value.wall - sync.mono, unsure: sync.value.unsure === true } : null;
}

/** Longest exchange whose answer is used. In a longer exchange, the time of the answer is too uncertain. */
const LONGEST_EXCHANGE_MS: Milliseconds = 5000;

/** The service's clock according to its last answers, for the clock loop. */
export interface HeardTime extends ServiceTime {
  /** Returns the last answers of this boot, oldest first. */
  said(): readonly Heard[];
  /** Build time of the program; absent: not known. */
  readonly built_at: EpochMs | undefined;
  judged(verdict: ClockVerdict): void;
}

export function createServiceTime(built_at?: EpochMs): HeardTime {
  let said: readonly Heard[] = [];
  let verdict: ClockVerdict = { synced: false, offset_ms: null };
  return {
    heard({ source, time, sent, received }) {
      const took = received - sent;
      if (took < 0 || took >= LONGEST_EXCHANGE_MS || !isPlausible(time)) return;
      // Assumes that the answer was made in the middle of the exchange. The error is at most half of the exchange.
      said = withHeard(said, { source, mono: received, offset: Math.round(time - sent - took / 2) });
    },
    said: () => said,
    built_at,
    judged(now) {
      verdict = now;
    },
    verdict: () => verdict,
  };
}
