import { statusLine } from "./rules/status-line.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { Clock, Logger, Notify } from "../domain/machine.ts";
import { serviceLinkOf, type BoothState, type ServiceState } from "./booth-state.ts";
import type { Pulse } from "../domain/pulse.ts";

/** Where no watchdog is asked for, the status line alone is renewed so often. */
const STATUS_EVERY_MS: Milliseconds = 10_000;

export interface WatchdogParts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly notify: Notify;
  readonly pulse: Pulse;
  readonly service: ServiceState;
  readonly boards: readonly BoothState[];
}

/**
 * Tells the service manager that all goes well, as long as every loop turns within its bound, and how things are. An event
 * loop that hangs can't beat; a loop that hangs beside a running event loop ends the beat too. Runs until aborted.
 */
export async function watchdogLoop(parts: WatchdogParts, signal: AbortSignal): Promise<never> {
  const { notify, clock } = parts;
  const every_ms = notify.watchdog_ms === null ? STATUS_EVERY_MS : notify.watchdog_ms / 3;
  let said = { line: "", late: "" };
  for (;;) {
    const late = parts.pulse.overdue().join(", ");
    if (late === "") notify.beat();
    else if (late !== said.late) parts.log.error({ event: "loop_hangs", loops: late }, textOf(late));
    const line = lineOf(parts);
    if (line !== said.line) notify.status(line);
    said = { line, late };
    await clock.sleep(every_ms, signal);
  }
}

function textOf(late: string): string {
  return `${late} should have turned long ago: no more beats, so that the service manager starts the agent anew`;
}

function lineOf({ clock, service, boards }: WatchdogParts): string {
  return statusLine(
    serviceLinkOf(service, clock.mono()).kind,
    boards.map(({ booth, summary, plc, info, trouble }) => {
      const waiting = info.newest_seq - info.acked_seq;
      return { booth, mode: summary?.mode ?? null, plc: plc.kind, waiting, trouble };
    }),
  );
}
