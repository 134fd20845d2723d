import { expect } from "vitest";
import type { Notify } from "../../src/domain/machine.ts";
import { recordFault } from "../support/faults.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { virtualSite } from "../support/virtual-site.ts";
import { DAY_MS } from "../../src/domain/time.ts";

const WATCHDOG_MS = 30_000;
/** With a working day before it, in which everything is as it should be. */
const START = Date.UTC(2026, 2, 2, 14, 50);

/**
 * Days without PLC and service, under virtual time: every beat that the service manager waits for comes in time. After some
 * minutes each back-off has reached its cap, and every further day is like the first.
 */
export async function staysAwake(days: number): Promise<void> {
  let now = (): number => 0;
  let last = Number.NaN;
  let longest = 0;
  let beats = 0;
  const nothing = (): void => undefined;
  const notify: Notify = {
    ready: nothing,
    watchdog_ms: WATCHDOG_MS,
    beat: () => {
      beats += 1;
      if (!Number.isNaN(last)) longest = Math.max(longest, now() - last);
      last = now();
    },
    status: nothing,
    stopping: nothing,
  };
  const site = virtualSite({ folder: temporaryFolder(), scenario: "busy-day", start: START, notify });
  now = () => site.clock.mono();
  await site.start();
  await site.clock.run(3_600_000);
  site.plc.fault = "timeout";
  site.service.way.down = true;
  const before = beats;
  for (let day = 0; day < days; day++) await site.clock.run(DAY_MS);
  const failed = site.lines.filter((line) => line.startsWith("FAILED"));
  const silence = now() - last;
  const passed = longest <= WATCHDOG_MS && silence <= WATCHDOG_MS && failed.length === 0;
  recordFault({
    row: 2,
    fault: `${days} days without PLC and service, ${beats - before} beats, longest pause ${longest} ms of ${WATCHDOG_MS}`,
    injected: 1,
    lost: 0,
    doubled: 0,
    wrong: failed.length,
    passed,
  });
  expect({ failed, beats: beats - before }).toEqual({ failed: [], beats: (3 * days * DAY_MS) / WATCHDOG_MS });
  expect(longest).toBeLessThanOrEqual(WATCHDOG_MS);
  await site.stop();
  site.close();
}
