import fc from "fast-check";
import { expect, it } from "vitest";
import { answerTime, isoTime, parseTime } from "../../src/contract/time.ts";

it.each([
  ["2025-02-17 10:00:00Z"],
  ["2025-02-17 10:00:00"],
  ["2025-02-17T10:00:00Z"],
  ["2025-02-17T10:00:00.000Z"],
  [" 2025-02-17 10:00:00Z "],
])("parseTime reads %s as UTC", (text) => {
  expect(parseTime(text)).toBe(Date.UTC(2025, 1, 17, 10));
});

it.each([
  [""],
  ["yesterday"],
  ["2025-02-30 10:00:00Z"],
  ["2025-02-17 25:00:00Z"],
  ["2025-02-17"],
  ["2025-02-17 10:00:00 CET"],
])("parseTime returns null for %j", (text) => {
  expect(parseTime(text)).toBeNull();
});

it("parseTime returns the instant that isoTime or answerTime wrote, whatever the machine's time zone", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4_102_444_800_000 }), (instant) => {
      expect(parseTime(isoTime(instant))).toBe(instant);
      expect(parseTime(answerTime(instant))).toBe(Math.floor(instant / 1000) * 1000);
    }),
  );
});
