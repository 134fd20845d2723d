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

/** How often both clocks are looked at. A step is told with this delay and moves nothing by itself, so it may be long. */
const LOOK_EVERY_MS: Milliseconds = 5000;
/** Corrected time that is this much ahead of the witness's stands still. */
const STANDS_MS: Milliseconds = 5000;
/** While a time isn't vouched for HTTP is asked so often, and, where that settles nothing, only now and then. */
const ASK_EVERY_MS: Milliseconds = 30_000;
const ASK_SELDOM_MS: Milliseconds = 900_000;
const ASK_OFTEN = 10;

interface ClockLooking {
  readonly clock: Clock;
  readonly log: Logger;
  readonly service_time: HeardTime;
  readonly booths: readonly { readonly clock: BoothClock; readonly state: BoothState }[];
}

/** Watches wall clock against elapsed time and against the service, and lets every booth log what it makes of it. Runs until aborted. */
export async function clockLoop(looking: ClockLooking, signal: AbortSignal): Promise<never> {
  const { clock, log, booths, service_time } = looking;
  const ask = asker(looking);
  let said = "";
  for (;;) {
    const { built_at } = service_time;
    const now = { mono: clock.mono(), wall: clock.wall(), kernel: clock.synced() };
    const reading = { ...now, heard: service_time.said(), built_at };
    for (const booth of booths) {
      const told = booth.clock.look(reading);
      if (told !== null && told !== said) log.info({ event: "clock", booth: booth.state.booth }, told);
      said = told ?? said;
    }
    service_time.judged(verdictOf(looking));
    ask();
    await clock.sleep(LOOK_EVERY_MS, signal);
  }
}

/** What every face says of the clock. A time that stands still, or that the service's answers are far from, isn't synchronised. */
function verdictOf({ booths, clock, service_time }: ClockLooking): ClockVerdict {
  const [booth] = booths;
  const watch = booth?.clock.watch();
  if (booth === undefined || watch?.synced !== true) return { synced: false, offset_ms: null };
  const { log } = booth.state;
  const right = clock.mono() + watch.offset;
  const reached = log.reached();
  const stands = reached !== null && reached - right > STANDS_MS;
  const offset_ms = (stands ? log.now() : right) - clock.wall();
  return { synced: !stands && !isDisputed(watch, { heard: service_time.said() }), offset_ms };
}

/** Gives the service a chance to say its time over HTTP, which is asked for other reasons a few times a day only. */
function asker({ booths, clock, service_time }: ClockLooking): () => void {
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

/** A booth's watch on the clock. */
export type BoothClock = ReturnType<typeof openClock>;

/** Logs the clock at the start, and keeps the watch on it. */
export function openClock(
  clock: Clock,
  { log, intake, leftover }: { log: LogState; intake: Pick<Intake, "record">; leftover: readonly TakenEntry[] },
) {
  const write = (value: ClockRecord["value"]): void =>
    intake.record((when) => ({ kind: KIND.clock, ...when, tag: "", value, quality: "good" }));
  // Kept over the wait of a boot that has no time yet: what is shown of that proves nothing.
  let committed: EpochMs | null = null;
  const reached = (): EpochMs | null => (committed = log.reached() ?? committed);
  const started = startWatch(syncedIn(leftover, clock.boot) ?? log.syncedOffset(clock.boot), {
    mono: clock.mono(),
    wall: clock.wall(),
    kernel: clock.synced(),
    heard: [],
    committed: reached(),
  });
  let { watch } = started;
  write(started.value);
  return {
    watch: () => watch,
    /** Logs what a look at the clocks brought, beside what the booth has committed. Returns it in words; null: nothing. */
    look(reading: ClockReading): string | null {
      const before = watch;
      const { watch: after, value } = watchClock(before, { ...reading, committed: reached() });
      watch = after;
      if (value === null) return null;
      write(value);
      return clockText(before, after, value);
    },
  };
}

/** A sync that a crash kept from being committed. */
function syncedIn(leftover: readonly TakenEntry[], boot: BootId): KnownOffset | null {
  const records = leftover.map((entry) => (entry.kind === "record" ? entry.record : null));
  const sync = records.findLast(
    (record) => record?.kind === KIND.clock && record.boot === boot && record.value.state === "synced",
  );
  return sync?.kind === KIND.clock ? { offset: sync.value.wall - sync.mono, unsure: sync.value.unsure === true } : null;
}

/** An answer that took longer says too little about the instant at which it was given. */
const LONGEST_EXCHANGE_MS: Milliseconds = 5000;

/** The service's clock as it was heard last, for the clock loop. */
export interface HeardTime extends ServiceTime {
  /** What the last answers of this boot said, oldest first. */
  said(): readonly Heard[];
  /** When the program was made; absent: not known. */
  readonly built_at: EpochMs | undefined;
  judged(verdict: ClockVerdict): void;
}

export function createServiceTime(built_at?: EpochMs): HeardTime {
  let said: readonly Heard[] = [];
  let verdict: ClockVerdict = { synced: false, offset_ms: null };
  return {
    heard({ way, time, sent, received }) {
      const took = received - sent;
      if (took < 0 || took >= LONGEST_EXCHANGE_MS || !isPlausible(time)) return;
      // The answer was made at some moment in between: the middle is off by half of it at most.
      said = withHeard(said, { way, mono: received, offset: Math.round(time - sent - took / 2) });
    },
    said: () => said,
    built_at,
    judged(now) {
      verdict = now;
    },
    verdict: () => verdict,
  };
}
