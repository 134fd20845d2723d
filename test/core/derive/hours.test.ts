import fc from "fast-check";
import { expect, test } from "vitest";
import type { Parameters } from "../../../src/core/types/parameters.ts";
import type { TakenEntry } from "../../../src/core/types/taken.ts";
import { fold, valuesOf } from "../../support/booth.ts";
import { casesOf, seedOf } from "../../support/seed.ts";
import { chunkings, entriesOf, steppedWalks, WALK } from "../../support/streams.ts";

const SEED = seedOf("test/core/derive/hours");
const HOUR_MS = 3_600_000;
const tags = Object.fromEntries(Object.entries(WALK.tags).filter(([name]) => name !== "cycles"));
/** Without a cycle counter: what an hour counts is derived. */
const UNCOUNTED: Parameters = { ...WALK, tags };

function uncounted(entry: TakenEntry): TakenEntry {
  if (entry.kind !== "record" || entry.record.kind !== "p") return entry;
  return { ...entry, record: { ...entry.record, value: UNCOUNTED } };
}

test("an hour is written once, whole, and with every counted cycle that ended in it, however late that was known", () => {
  const seen = { hours: 0, cycles: 0 };
  fc.assert(
    fc.property(steppedWalks, chunkings, (walk, sizes) => {
      const entries = entriesOf([...walk, { kind: "mode", code: 1, ms: 4_500_000 }]);
      const { facts } = fold(entries.map(uncounted), UNCOUNTED, sizes);
      const hours = valuesOf(facts, "d");
      const ends = valuesOf(facts, "c").filter(({ counted }) => counted);
      const cyclesIn = (hour: number): number => ends.filter(({ end }) => end >= hour && end < hour + HOUR_MS).length;
      seen.hours += hours.length;
      seen.cycles += hours.reduce((sum, { cycles }) => sum + cycles, 0);
      expect(new Set(hours.map(({ hour }) => hour)).size).toBe(hours.length);
      expect(hours.map(({ hour, cycles }) => [hour, cycles])).toEqual(hours.map(({ hour }) => [hour, cyclesIn(hour)]));
      // The first one begins with the first reading.
      for (const { ms_by_mode } of hours.slice(1))
        expect(Object.values(ms_by_mode).reduce((sum, ms) => sum + ms, 0)).toBe(HOUR_MS);
    }),
    { numRuns: casesOf(1_000), seed: SEED },
  );
  expect(seen.hours).toBeGreaterThan(casesOf(1_000));
  expect(seen.cycles).toBeGreaterThan(casesOf(1_000) / 10);
});
