import { expect, it } from "vitest";
import { instantOf } from "../../simulators/plc/model/local-time.ts";
import { nightShift } from "../../simulators/plc/scenarios/night-shift.ts";
import type { WorkingHours } from "../../src/domain/booth.ts";
import { utilization } from "../../src/reports/usage.ts";
import { play } from "./play.ts";

const DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] as const;
const NIGHTS: readonly WorkingHours[] = DAYS.map((day) => ({
  day,
  enabled: true,
  start: "22:00:00",
  stop: "06:00:00",
}));
/** Four cycles of 79 min in use. */
const IN_USE_MS = 4 * 79 * 60_000;

it.each([
  { tz: "America/Denver", month: 3, day: 7, working_minutes: 420 },
  { tz: "America/Denver", month: 10, day: 31, working_minutes: 540 },
  { tz: "Europe/Berlin", month: 3, day: 28, working_minutes: 420 },
  { tz: "Europe/Berlin", month: 10, day: 24, working_minutes: 540 },
  { tz: "Australia/Lord_Howe", month: 4, day: 4, working_minutes: 510 },
  { tz: "Australia/Lord_Howe", month: 10, day: 3, working_minutes: 450 },
  { tz: "Asia/Kolkata", month: 3, day: 7, working_minutes: 480 },
  // A facility without a valid zone counts as UTC, so the story uses UTC.
  { tz: "Mars/Olympus", month: 3, day: 7, working_minutes: 480 },
])(
  "scenario 13: the night shift that starts in $tz on $month/$day has $working_minutes working minutes",
  async (night) => {
    const { tz, month, day, working_minutes } = night;
    const story = { ...nightShift, tz: tz === "Mars/Olympus" ? "UTC" : tz };
    const played = await play({
      name: `night-shift ${tz} ${month}/${day}`,
      scenario: story,
      start: instantOf(story.tz, { year: 2026, month, day }, "21:30"),
      hours: 10,
      booth: { poll: { fast: { poll_interval_ms: 5_000 } } },
      facility: { tz, working_hours: NIGHTS },
      incidents: tz === "Mars/Olympus" ? ["config_tz "] : [],
    });
    const { source, window, truth, figures } = played;
    const use = utilization(source, window);
    expect(use.working_ms).toBe(working_minutes * 60_000);
    expect(use.tz_known).toBe(tz !== "Mars/Olympus");
    expect(truth.in_use_ms).toBe(IN_USE_MS);
    // A shift shortened by the change of the clock ends before the last cycle.
    const shift_end = window.start + 30 * 60_000 + working_minutes * 60_000;
    const late = played.site.booth.truth(shift_end, window.end).in_use_ms;
    expect(Math.abs(figures.overtime_minutes * 60_000 - late)).toBeLessThanOrEqual(2 * 5_000);
    expect(figures.cycles).toHaveLength(4);
    played.close();
  },
);
