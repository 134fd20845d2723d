import { expect, it } from "vitest";
import { DAY_MS, HOUR_MS } from "../../src/domain/time.ts";
import type { Notify } from "../../src/domain/machine.ts";
import { activeSite } from "../support/active-site.ts";
import { recordFault } from "../support/faults.ts";

const WATCHDOG_MS = 30_000;
const DAYS = 30;

it("the systemd watchdog gets every heartbeat in time during 30 days without PLC and service", async () => {
  let now = (): number => 0;
  let last = Number.NaN;
  let longest = 0;
  let beats = 0;
  const nothing = (): void => undefined;
  const beat = (): void => {
    beats += 1;
    if (!Number.isNaN(last)) longest = Math.max(longest, now() - last);
    last = now();
  };
  const notify: Notify = { ready: nothing, watchdog_ms: WATCHDOG_MS, beat, status: nothing, stopping: nothing };
  const { site } = await activeSite({ for_ms: HOUR_MS, notify });
  now = () => site.clock.mono();
  last = now();
  site.plc.fault = "timeout";
  site.service.way.down = true;
  const before = beats;
  await site.clock.run(DAYS * DAY_MS);
  longest = Math.max(longest, now() - last);
  const passed = longest <= WATCHDOG_MS;
  const fault = `${DAYS} days without PLC and service, ${beats - before} beats, longest pause ${longest} ms of ${WATCHDOG_MS}`;
  recordFault({ row: 2, fault, injected: 1, lost: 0, doubled: 0, wrong: 0, passed });
  expect(beats - before).toBe((3 * DAYS * DAY_MS) / WATCHDOG_MS);
  expect(longest).toBeLessThanOrEqual(WATCHDOG_MS);
  await site.stop();
});
