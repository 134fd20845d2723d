import { expect, test } from "vitest";
import {
  daysFromCivil,
  dayStart,
  instantOf,
  isKnownZone,
  lengthOf,
  weekdayOf,
  workingIntervals,
} from "../../src/domain/time-zone.ts";
import type { WorkingHours } from "../../src/domain/booth.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

const DENVER = "America/Denver";
const DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] as const;

function daily(start: string, stop: string): WorkingHours[] {
  return DAYS.map((day) => ({ day, enabled: true, start, stop }));
}

function minutesOf(hours: WorkingHours[], tz: string, [year, month, day]: [number, number, number]): number {
  const start = instantOf(tz, daysFromCivil(year, month, day), 0);
  const end = instantOf(tz, daysFromCivil(year, month, day) + 1, 0);
  return lengthOf(workingIntervals(hours, tz, { start, end })) / MINUTE_MS;
}

test.each<[[number, number, number], number]>([
  [[2026, 3, 8], 300],
  [[2026, 11, 1], 420],
  [[2026, 3, 7], 360],
  [[2026, 11, 2], 360],
])("a shift 00:00-06:00 in Denver on %j is %i min", (day, minutes) => {
  expect(minutesOf(daily("00:00:00", "06:00:00"), DENVER, day)).toBe(minutes);
});

test("a shift past midnight belongs to the day it starts on", () => {
  const night: WorkingHours[] = [{ day: "friday", enabled: true, start: "22:00:00", stop: "06:00:00" }];
  expect(minutesOf(night, "UTC", [2025, 3, 7])).toBe(120);
  expect(minutesOf(night, "UTC", [2025, 3, 8])).toBe(360);
});

test("start = stop is 24 h, shifts are united, a disabled one is none", () => {
  expect(minutesOf(daily("08:00:00", "08:00:00"), "UTC", [2025, 3, 5])).toBe(1440);
  expect(minutesOf([...daily("08:00:00", "12:00:00"), ...daily("11:00:00", "13:00:00")], "UTC", [2025, 3, 5])).toBe(
    300,
  );
  const off = daily("08:00:00", "12:00:00").map((shift) => ({ ...shift, enabled: false }));
  expect(minutesOf(off, "UTC", [2025, 3, 5])).toBe(0);
});

test("a wall time that doesn't exist is the first instant after the jump, one that exists twice the earlier", () => {
  const jump = instantOf(DENVER, daysFromCivil(2026, 3, 8), 150 * MINUTE_MS);
  expect(new Date(jump).toISOString()).toBe("2026-03-08T09:00:00.000Z");
  const twice = instantOf(DENVER, daysFromCivil(2026, 11, 1), 90 * MINUTE_MS);
  expect(new Date(twice).toISOString()).toBe("2026-11-01T07:30:00.000Z");
});

test("days, weekdays and zones", () => {
  expect(daysFromCivil(1970, 1, 1)).toBe(0);
  expect(daysFromCivil(2000, 2, 29)).toBe(Date.UTC(2000, 1, 29) / 86_400_000);
  expect(weekdayOf(daysFromCivil(2025, 3, 3))).toBe(0);
  expect(new Date(dayStart(DENVER, Date.UTC(2025, 6, 1, 3))).toISOString()).toBe("2025-06-30T06:00:00.000Z");
  expect([isKnownZone(DENVER), isKnownZone("Mars/Olympus")]).toEqual([true, false]);
});
