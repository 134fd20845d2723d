import { it } from "vitest";
import { tellFault } from "./clock-fault.ts";
import { play } from "./play.ts";

/** Mon 2026-03-02 08:00 in Denver. */
const MORNING = Date.UTC(2026, 2, 2, 15);
/** Wall clock of a gateway without a battery, a few seconds after the start of its kernel. */
const WALL_1970 = 12_000;

it("a gateway that boots in 1970 and gets NTP time after 40 s reports the same figures as a gateway with the right time", async () => {
  const played = await play({
    name: "1970, NTP after 40 s",
    scenario: "standard-cycle",
    start: MORNING,
    hours: 2.5,
    arrange: ({ clock }) => {
      clock.reboot(WALL_1970);
      clock.setSynced(false);
    },
    during: async ({ clock, service }) => {
      service.way.down = true;
      await clock.run(40_000);
      clock.stepWall(clock.truth() - clock.wall());
      clock.setSynced(true);
      await clock.run(10_000);
      service.way.down = false;
    },
  });
  tellFault("scenario 18: 1970 at boot, stepped 56 years by NTP after 40 s", { injected: 1 }, played);
  played.close();
});

it("an uptime that passes 49.7 days (2^32 ms) in the middle of a cycle changes no figure", async () => {
  const played = await play({
    name: "uptime of 49.7 days",
    scenario: "standard-cycle",
    start: MORNING,
    hours: 2.5,
    // A counter of 32 bits would wrap after three quarters of an hour.
    uptime_ms: 2 ** 32 - 45 * 60_000,
  });
  tellFault("uptime passes 2^32 ms under a running agent", { row: 38, injected: 1 }, played);
  played.close();
});
