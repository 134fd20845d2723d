import { describe, expect, it } from "vitest";
import { instantIn, timeText, zoneOf } from "../../src/cli/time.ts";

const DENVER = "America/Denver";
/** 08:05 of a Monday in Denver, a week before the clocks go forward. */
const NOW = Date.UTC(2026, 2, 2, 15, 5, 12);

describe("a time on the command line", () => {
  it("is printed in one format, with its time zone", () => {
    expect(timeText(NOW, DENVER)).toBe("2026-03-02 08:05:12 -07:00");
    expect(timeText(NOW, "UTC")).toBe("2026-03-02 15:05:12 UTC");
    expect(timeText("2026-07-02 15:05:12Z", DENVER)).toBe("2026-07-02 09:05:12 -06:00");
    expect(timeText("2026-07-02 15:05:12Z", "Asia/Kolkata")).toBe("2026-07-02 20:35:12 +05:30");
    expect(timeText("not known", "UTC")).toBe("not known");
    expect(zoneOf({ utc: true })).toBe("UTC");
    expect(zoneOf({})).toBe(Intl.DateTimeFormat().resolvedOptions().timeZone);
  });

  it.each([
    ["now", "2026-03-02T15:05:12.000Z"],
    ["today", "2026-03-02T07:00:00.000Z"],
    ["yesterday", "2026-03-01T07:00:00.000Z"],
    ["-2h", "2026-03-02T13:05:12.000Z"],
    ["-30m", "2026-03-02T14:35:12.000Z"],
    ["-1.5d", "2026-03-01T03:05:12.000Z"],
    ["2026-03-02", "2026-03-02T07:00:00.000Z"],
    ["2026-03-09", "2026-03-09T06:00:00.000Z"],
    ["2026-03-02 08:05", "2026-03-02T15:05:00.000Z"],
    ["2026-03-02T08:05:12", "2026-03-02T15:05:12.000Z"],
    ["2026-03-02T15:00:00Z", "2026-03-02T15:00:00.000Z"],
    ["2026-03-02 16:00:00+01:00", "2026-03-02T15:00:00.000Z"],
  ])("can be given as %j, which means %s in the time zone of Denver", (typed, instant) => {
    const at = instantIn(typed, { now: NOW, tz: DENVER });
    expect(at === null ? null : new Date(at).toISOString()).toBe(instant);
  });

  it.each(["", "tomorrow", "-2", "2h", "2026-02-30", "2026-03-02 25:00", "08:00", "-2y"])(
    "is rejected if it is given as %j",
    (typed) => {
      expect(instantIn(typed, { now: NOW, tz: DENVER })).toBeNull();
    },
  );
});
