import { expect, it } from "vitest";
import { AHEAD, BOTH, lies, repents, YEAR } from "./lying-time.ts";
import { activeSite, boothOf, MINUTE } from "../support/active-site.ts";
import { HOUR_MS } from "../../src/domain/time.ts";

/** Mon 2026-03-02 23:20 in Denver: the day is nearly over. */
const EVENING = Date.UTC(2026, 2, 3, 6, 20);
const MIDNIGHT = Date.UTC(2026, 2, 3, 7);

it("after a lie about the time no day of its future is asked for or kept as compared, and each day that is over is", async () => {
  const poll = { fast: { poll_interval_ms: 10_000 }, slow: { poll_interval_ms: MINUTE } };
  const { site, agent } = await activeSite({ start: EVENING, scenario: "standard-cycle", for_ms: 0, booth: { poll } });
  site.clock.setSynced(false);
  await site.clock.run(5 * MINUTE);
  lies(site, BOTH, AHEAD);
  await site.clock.run(10 * MINUTE);
  expect(boothOf(agent).time).toBeGreaterThan(EVENING + YEAR);
  // The lie is believed, and by it a day of next year is over.
  expect(boothOf(agent).reconciliation?.day).toBe("2027-03-01");
  repents(site);
  await site.clock.run(10 * MINUTE);
  expect(boothOf(agent).time).toBe(site.clock.truth());
  // Under way until the records that it waits for are there, or too long.
  await site.clock.runUntil(() => boothOf(agent).reconciliation === null, HOUR_MS);
  const told = site.lines.length;
  await site.clock.run(MIDNIGHT + 3 * HOUR_MS - site.clock.wall());
  expect(boothOf(agent).reconciliation).toMatchObject({ kind: "done", day: "2026-03-02" });
  expect(site.lines.slice(told).filter((line) => line.includes("2027-"))).toEqual([]);
});
