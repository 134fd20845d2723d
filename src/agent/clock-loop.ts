import type { ClockReading } from "../core/clock-watch.ts";
import type { Milliseconds } from "../core/types/units.ts";
import type { Clock, Logger } from "../ports.ts";
import type { Booth } from "./booth.ts";
import type { HeardTime } from "./service-time.ts";

/** How often both clocks are looked at. A step is told with this delay and moves nothing by itself, so it may be long. */
const LOOK_EVERY_MS: Milliseconds = 5000;

export interface ClockLoopParts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly service_time: HeardTime;
  readonly booths: readonly Booth[];
}

/** Both clocks now. */
export function readClocks(clock: Clock, service_offset: Milliseconds | null): ClockReading {
  return { mono: clock.mono(), wall: clock.wall(), kernel: clock.synced(), service_offset };
}

/** Watches wall clock against elapsed time and against the service, and lets every booth log what it makes of it. Runs until aborted. */
export async function clockLoop(parts: ClockLoopParts, signal: AbortSignal): Promise<never> {
  const { clock, service_time } = parts;
  let said = "";
  for (;;) {
    const reading = readClocks(clock, service_time.service_offset());
    for (const booth of parts.booths) {
      const told = booth.watchClock(reading);
      if (told !== null && told !== said) parts.log.info({ event: "clock", booth: booth.board.booth }, told);
      said = told ?? said;
    }
    const watch = parts.booths[0]?.clockWatch();
    service_time.judged(watch?.synced === true ? watch.offset - (reading.wall - reading.mono) : null);
    await clock.sleep(LOOK_EVERY_MS, signal);
  }
}
