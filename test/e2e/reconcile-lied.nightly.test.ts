import { expect, it } from "vitest";
import { DAY_MS, HOUR_MS } from "../../src/domain/time.ts";
import { activeSite, boothOf, MINUTE } from "../support/active-site.ts";

/** Mon 2026-03-02 23:20 in Denver, 40 minutes before midnight. */
const EVENING = Date.UTC(2026, 2, 3, 6, 20);
const MIDNIGHT = Date.UTC(2026, 2, 3, 7);
const YEAR_MS = 365 * DAY_MS;

it("the daily comparison discards a future day that a wrong time from the service caused, and compares the right day", async () => {
  const poll = { fast: { poll_interval_ms: 10_000 }, slow: { poll_interval_ms: MINUTE } };
  const { site, agent } = await activeSite({ start: EVENING, scenario: "standard-cycle", for_ms: 0, booth: { poll } });
  site.clock.setSynced(false);
  await site.clock.run(5 * MINUTE);
  site.service.way.says = (time) => time + YEAR_MS;
  await site.clock.run(10 * MINUTE);
  // The agent believes the lie, so that a day of next year has ended.
  expect(boothOf(agent).time).toBeGreaterThan(EVENING + YEAR_MS);
  expect(boothOf(agent).reconciliation?.day).toBe("2027-03-01");
  site.service.way.says = (time) => time;
  await site.clock.run(10 * MINUTE);
  expect(boothOf(agent).time).toBe(site.clock.truth());
  await site.clock.runUntil(() => boothOf(agent).reconciliation === null, HOUR_MS);
  const lines = site.lines.length;
  await site.clock.run(MIDNIGHT + 3 * HOUR_MS - site.clock.wall());
  expect(boothOf(agent).reconciliation).toMatchObject({ kind: "done", day: "2026-03-02" });
  expect(site.lines.slice(lines).filter((line) => line.includes("2027-"))).toEqual([]);
});
