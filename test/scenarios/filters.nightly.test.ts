import { expect, it } from "vitest";
import { filterMaintenanceHistory } from "../../src/reports/filters.ts";
import { play } from "./play.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

/** Mon 2026-03-02 07:40 in Denver. */
const BEFORE_WORK = Date.UTC(2026, 2, 2, 14, 40);
const POLL_MS = 2_000;
const POLLS = { poll: { fast: { poll_interval_ms: POLL_MS } } };

it("if two filters are overdue at the same time for 5 h, the booth's overuse counts these hours only once", async () => {
  const played = await play({ scenario: "filter-overdue", start: BEFORE_WORK, hours: 60, booth: POLLS });
  const { truth, source, window, figures } = played;
  const changes = filterMaintenanceHistory(source, window);
  expect(changes.map(({ filter_type }) => filter_type)).toEqual(["exhaust_filter", "pre_filter"]);
  expect(changes.every(({ service }) => service === "late")).toBe(true);
  expect(figures.overuse_cycles).toBe(truth.overuse.cycles);
  for (const { filter_type, overuse_since, booth_overuse_ms, booth_overuse_cycles, booth_in_use_ms } of changes) {
    const [real] = truth.filters[filter_type] ?? [];
    expect(booth_overuse_cycles).toBe(real?.overuse_cycles);
    const late = (overuse_since ?? NaN) - (real?.overuse_since ?? NaN);
    expect(late).toBeGreaterThanOrEqual(0);
    expect(late).toBeLessThanOrEqual(POLL_MS);
    expect(Math.round(booth_overuse_ms / MINUTE_MS)).toBe((real?.overuse_ms ?? NaN) / MINUTE_MS);
    expect(Math.abs(booth_in_use_ms / MINUTE_MS - (real?.minutes ?? NaN))).toBeLessThanOrEqual(0.2);
  }
  played.close();
});
