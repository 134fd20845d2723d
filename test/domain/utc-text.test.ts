import fc from "fast-check";
import { expect, it } from "vitest";
import { utcText } from "../../src/domain/time-zone.ts";

it("an instant's text is that of the calendar", () => {
  const instant = fc.integer({ min: Date.UTC(1900, 0, 1), max: Date.UTC(2199, 11, 31) });
  fc.assert(
    fc.property(instant, (at) => {
      const told = new Date(at).toISOString();
      expect(utcText(at)).toBe(`${told.slice(0, 10)} ${told.slice(11, 19)} UTC`);
    }),
  );
});
