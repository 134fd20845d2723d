import { expect, it } from "vitest";
import { createPulse, LOOP_MS } from "../../src/domain/signal.ts";
import { newServiceState } from "../../src/domain/link-status.ts";
import { watchdogLoop } from "../../src/runtime/service-manager.ts";
import type { Notify } from "../../src/domain/machine.ts";
import { virtualClock } from "../../simulators/virtual/clock.ts";

const WATCHDOG_MS = 30_000;

/** A watchdog over one loop, with what the service manager hears. */
function watched() {
  const clock = virtualClock({ wall: 0 });
  const heard = { beats: 0, lines: [] as string[] };
  const errors: string[] = [];
  const nothing = (): void => undefined;
  const notify: Notify = {
    ready: nothing,
    watchdog_ms: WATCHDOG_MS,
    beat: () => (heard.beats += 1),
    status: (line) => heard.lines.push(line),
    stopping: nothing,
  };
  const log = {
    debug: nothing,
    info: nothing,
    warn: nothing,
    error: (_: unknown, text: string) => void errors.push(text),
  };
  const pulse = createPulse(clock);
  const turned = pulse.loop("poll of booth-1");
  const service = newServiceState(0);
  const end = new AbortController();
  const ended = watchdogLoop(
    { clock, log, notify, pulse, service, service_url: "https://service" },
    [],
    end.signal,
  ).catch(() => undefined);
  const stop = async (): Promise<void> => {
    end.abort();
    await ended;
  };
  return { clock, heard, errors, turned, service, stop };
}

it("a loop that doesn't turn within its bound ends the beat, and is named once; it goes on when the loop does", async () => {
  const { clock, heard, errors, turned, stop } = watched();
  turned(LOOP_MS);
  await clock.run(LOOP_MS);
  const within = heard.beats;
  await clock.run(10 * WATCHDOG_MS);
  const after = heard.beats;
  turned(LOOP_MS);
  await clock.run(WATCHDOG_MS);
  expect({ within, after: after - within, named: errors.length, again: heard.beats - after }).toEqual({
    // At 0, and three times in each interval of the watchdog.
    within: 1 + (3 * LOOP_MS) / WATCHDOG_MS,
    after: 0,
    named: 1,
    again: 3,
  });
  expect(errors[0]).toContain("poll of booth-1");
  await stop();
});

it.each([
  ["a back-off wait that isn't overdue", 3_600_000],
  ["a wait for news that may never come", Number.POSITIVE_INFINITY],
])("%s keeps the beat", async (_, within_ms) => {
  const { clock, heard, turned, stop } = watched();
  turned(within_ms);
  await clock.run(3_600_000);
  expect(heard.beats).toBe(1 + (3 * 3_600_000) / WATCHDOG_MS);
  await stop();
});

it("the status line is said when it changes, not with every beat", async () => {
  const { clock, heard, service, stop } = watched();
  await clock.run(10 * WATCHDOG_MS);
  service.link = { kind: "up", since: 0 };
  await clock.run(10 * WATCHDOG_MS);
  expect(heard.lines).toEqual(["service not in use yet", "service up"]);
  await stop();
});
