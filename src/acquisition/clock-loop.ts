import { isDisputed, type ClockReading } from "./rules/clock-watch.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { Clock, Logger } from "../domain/machine.ts";
import type { ClockVerdict } from "../domain/service-time.ts";
import type { Booth, StateView } from "../runtime/booth.ts";
import type { HeardTime } from "./service-time.ts";

/** How often both clocks are looked at. A step is told with this delay and moves nothing by itself, so it may be long. */
const LOOK_EVERY_MS: Milliseconds = 5000;
/** Corrected time that is this much ahead of the witness's stands still. */
const STANDS_MS: Milliseconds = 5000;
/** While a time isn't vouched for HTTP is asked so often, and, where that settles nothing, only now and then. */
const ASK_EVERY_MS: Milliseconds = 30_000;
const ASK_SELDOM_MS: Milliseconds = 900_000;
const ASK_OFTEN = 10;

export interface ClockLoopParts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly service_time: HeardTime;
  readonly view: StateView;
  readonly booths: readonly Booth[];
}

/** Both clocks now, and what is known from outside. */
function readClocks(clock: Clock, heard: HeardTime): ClockReading {
  const { built_at } = heard;
  const now = { mono: clock.mono(), wall: clock.wall(), kernel: clock.synced() };
  return { ...now, heard: heard.said(), ...(built_at === undefined ? {} : { built_at }) };
}

/** Watches wall clock against elapsed time and against the service, and lets every booth log what it makes of it. Runs until aborted. */
export async function clockLoop(parts: ClockLoopParts, signal: AbortSignal): Promise<never> {
  const { clock, service_time } = parts;
  const ask = asker(parts);
  let said = "";
  for (;;) {
    const reading = readClocks(clock, service_time);
    for (const booth of parts.booths) {
      const told = booth.watchClock(reading);
      if (told !== null && told !== said) parts.log.info({ event: "clock", booth: booth.board.booth }, told);
      said = told ?? said;
    }
    service_time.judged(verdictOf(parts));
    ask();
    await clock.sleep(LOOK_EVERY_MS, signal);
  }
}

/** What every face says of the clock. A time that stands still, or that the service's answers are far from, isn't synchronised. */
function verdictOf({ booths, clock, service_time, view }: ClockLoopParts): ClockVerdict {
  const [booth] = booths;
  const watch = booth?.clockWatch();
  if (booth === undefined || watch?.synced !== true) return { synced: false, offset_ms: null };
  const { state } = booth.board;
  const right = clock.mono() + watch.offset;
  const reached = state === undefined ? null : view.reached(state);
  const stands = reached !== null && reached - right > STANDS_MS;
  const offset_ms = (stands ? view.now(state, clock) : right) - clock.wall();
  return { synced: !stands && !isDisputed(watch, { heard: service_time.said() }), offset_ms };
}

/** Gives the service a chance to say its time over HTTP, which is asked for other reasons a few times a day only. */
function asker({ booths, clock, service_time }: ClockLoopParts): () => void {
  let asked = 0;
  let next = clock.mono() + ASK_EVERY_MS;
  return () => {
    const [booth] = booths;
    const watch = booth?.clockWatch();
    const isOpen =
      watch?.synced === true && (watch.vouched === null || isDisputed(watch, { heard: service_time.said() }));
    if (booth === undefined || !isOpen) {
      asked = 0;
      return;
    }
    if (clock.mono() < next) return;
    asked += 1;
    next = clock.mono() + (asked < ASK_OFTEN ? ASK_EVERY_MS : ASK_SELDOM_MS);
    booth.board.look_again = true;
    booth.board.news.ring();
  };
}
