import fc from "fast-check";
import { expect, it } from "vitest";
import { zoneOffsetMs } from "../../src/domain/time-zone.ts";

const ZONES = ["America/St_Johns", "Antarctica/Casey", "Asia/Gaza", "Europe/Berlin", "America/Denver", "Pacific/Apia"];
const FROM = Date.UTC(1973, 0, 1);

/** As a formatter has it that has never been asked before. */
function shownOffsetMs(tz: string, at: number): number {
  const text = new Intl.DateTimeFormat("en-US", { timeZone: tz, timeZoneName: "longOffset" }).format(at);
  const [, sign, hours = "0", minutes = "0"] = /GMT(?:([+-])(\d\d):(\d\d))?$/.exec(text) ?? [];
  return (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
}

it("the offset of an instant is that of the zone's own calendar, also in the hour in which clocks are put", () => {
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
    { numRuns: 300 },
  );
  expect(zoneOffsetMs("America/St_Johns", Date.UTC(2008, 2, 9, 3, 30, 59))).toBe(-12_600_000);
  expect(zoneOffsetMs("America/St_Johns", Date.UTC(2008, 2, 9, 3, 31))).toBe(-9_000_000);
});
