import fc from "fast-check";
import { expect, it } from "vitest";
import type { WorkingHours } from "../../src/domain/booth.ts";
import {
  daysFromCivil,
  dayStart,
  instantOf,
  isKnownZone,
  lengthOf,
  utcText,
  weekdayOf,
  workingIntervals,
  zoneOffsetMs,
} from "../../src/domain/time-zone.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

const ZONES = ["America/St_Johns", "Antarctica/Casey", "Asia/Gaza", "Europe/Berlin", "America/Denver", "Pacific/Apia"];
const FROM = Date.UTC(1973, 0, 1);

/** The offset from a new formatter, without the cache. */
function shownOffsetMs(tz: string, at: number): number {
  const text = new Intl.DateTimeFormat("en-US", { timeZone: tz, timeZoneName: "longOffset" }).format(at);
  const [, sign, hours = "0", minutes = "0"] = /GMT(?:([+-])(\d\d):(\d\d))?$/.exec(text) ?? [];
  return (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
}

it("zoneOffsetMs equals the offset of Intl at any instant, even near clock changes", () => {
  // Denver, 2026-03-08 09:00 UTC; St John's, 2008-03-09 03:31 UTC.
  const near = fc
    .tuple(
      fc.constantFrom(Date.UTC(2026, 2, 8, 9), Date.UTC(2008, 2, 9, 3, 31)),
      fc.integer({ min: -90_000, max: 90_000 }),
    )
    .map(([at, by]) => at + by);
  const instants = fc.oneof(fc.integer({ min: FROM, max: Date.UTC(2037, 0, 1) }), near);
  fc.assert(
    fc.property(fc.constantFrom(...ZONES), instants, (tz, at) => zoneOffsetMs(tz, at) === shownOffsetMs(tz, at)),
  );
  expect(zoneOffsetMs("America/St_Johns", Date.UTC(2008, 2, 9, 3, 30, 59))).toBe(-12_600_000);
  expect(zoneOffsetMs("America/St_Johns", Date.UTC(2008, 2, 9, 3, 31))).toBe(-9_000_000);
});

it("utcText formats any instant like Date.toISOString", () => {
  const instant = fc.integer({ min: Date.UTC(1900, 0, 1), max: Date.UTC(2199, 11, 31) });
  fc.assert(
    fc.property(instant, (at) => {
      const told = new Date(at).toISOString();
      expect(utcText(at)).toBe(`${told.slice(0, 10)} ${told.slice(11, 19)} UTC`);
    }),
  );
});

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

it.each<[[number, number, number], number]>([
  [[2026, 3, 8], 300],
  [[2026, 11, 1], 420],
  [[2026, 3, 7], 360],
  [[2026, 11, 2], 360],
])("working hours from 00:00 to 06:00 in Denver on the day %j have %i min", (day, minutes) => {
  expect(minutesOf(daily("00:00:00", "06:00:00"), DENVER, day)).toBe(minutes);
});

it("working hours of a shift past midnight count on each of the two days for the part on that day", () => {
  const night: WorkingHours[] = [{ day: "friday", enabled: true, start: "22:00:00", stop: "06:00:00" }];
  expect(minutesOf(night, "UTC", [2025, 3, 7])).toBe(120);
  expect(minutesOf(night, "UTC", [2025, 3, 8])).toBe(360);
});

it("working hours count overlapping shifts once, skip disabled shifts, and treat start = stop as 24 h", () => {
  expect(minutesOf(daily("08:00:00", "08:00:00"), "UTC", [2025, 3, 5])).toBe(1440);
  expect(minutesOf([...daily("08:00:00", "12:00:00"), ...daily("11:00:00", "13:00:00")], "UTC", [2025, 3, 5])).toBe(
    300,
  );
  const off = daily("08:00:00", "12:00:00").map((shift) => ({ ...shift, enabled: false }));
  expect(minutesOf(off, "UTC", [2025, 3, 5])).toBe(0);
});

it("instantOf maps a skipped wall time to the instant of the clock change, and a repeated wall time to its first instant", () => {
  const jump = instantOf(DENVER, daysFromCivil(2026, 3, 8), 150 * MINUTE_MS);
  expect(new Date(jump).toISOString()).toBe("2026-03-08T09:00:00.000Z");
  const twice = instantOf(DENVER, daysFromCivil(2026, 11, 1), 90 * MINUTE_MS);
  expect(new Date(twice).toISOString()).toBe("2026-11-01T07:30:00.000Z");
});

it("calendar functions convert dates, weekdays and day starts, and recognize valid time zones", () => {
  expect(daysFromCivil(1970, 1, 1)).toBe(0);
  expect(daysFromCivil(2000, 2, 29)).toBe(Date.UTC(2000, 1, 29) / 86_400_000);
  expect(weekdayOf(daysFromCivil(2025, 3, 3))).toBe(0);
  expect(new Date(dayStart(DENVER, Date.UTC(2025, 6, 1, 3))).toISOString()).toBe("2025-06-30T06:00:00.000Z");
  expect([isKnownZone(DENVER), isKnownZone("Mars/Olympus")]).toEqual([true, false]);
});
