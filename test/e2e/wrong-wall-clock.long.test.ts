import { expect, it } from "vitest";
import { localBooths, reportsNow } from "../../src/api/report.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { virtualSite } from "../support/virtual-site.ts";
import { MINUTE_MS, DAY_MS } from "../../src/domain/time.ts";

/** Mon 2026-03-02 08:00 in Denver. */
const START = Date.UTC(2026, 2, 2, 15);

it.each([DAY_MS, -DAY_MS])(
  "the verification of a new binding times out after 15 min of elapsed time, even if the wall clock steps by %i ms",
  async (by) => {
    const site = virtualSite({ folder: temporaryFolder(), scenario: "standard-cycle", start: START });
    const agent = await site.start();
    // The service stores records, but its acks are lost.
    site.service.way.lose_acks = Infinity;
    const state = (): string => agent.status().booths[0]?.provisioning.state ?? "";
    await site.clock.runUntil(() => state() === "verifying", 5 * MINUTE_MS);
    site.clock.stepWall(by);
    const told = (): number => site.lines.filter((line) => line.includes("not verified within 15 min")).length;
    await site.clock.run(14 * MINUTE_MS);
    expect([state(), told()]).toEqual(["verifying", 0]);
    await site.clock.run(2 * MINUTE_MS);
    expect(told()).toBe(1);
    await site.stop();
    site.close();
  },
);

it.each([DAY_MS, -DAY_MS])(
  "reports and connectivity use the corrected time if the wall clock is %i ms off",
  async (by) => {
    const site = virtualSite({ folder: temporaryFolder(), scenario: "standard-cycle", start: START });
    const agent = await site.start();
    await site.clock.run(10 * MINUTE_MS);
    site.clock.stepWall(by);
    await site.clock.run(30_000);
    const status = agent.status();
    expect(status.at - site.clock.truth()).toBe(by);
    expect(reportsNow(status)).toBe(site.clock.truth());
    expect(localBooths(status).map(({ connectivity }) => connectivity)).toEqual(["Active"]);
    await site.stop();
    site.close();
  },
);
