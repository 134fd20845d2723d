import fc from "fast-check";
import { expect, it } from "vitest";
import { openEndOf, presentOf } from "../../src/derivation/fold.ts";
import { dayStart } from "../../src/domain/time-zone.ts";
import { durationsToday, summaryOf } from "../../src/reports/summary.ts";
import { durationByMode } from "../../src/reports/usage.ts";
import { copyOf, logOf, rightFold } from "../derivation/folds.ts";
import { steppedWalks } from "../derivation/streams.ts";
import { foldRecords } from "../support/booth.ts";
import { readerOf } from "../support/reader.ts";
import { seedOf } from "../support/seed.ts";
import { HOUR_MS } from "../../src/domain/time.ts";

const SEED = seedOf("test/reports/present");
/** A life up to some record, and the time of the summary after it. */
const looks = fc.record({ life: steppedWalks, at: fc.nat(10_000), later: fc.nat(40 * HOUR_MS) });

it("openEndOf does not change its argument", () => {
  fc.assert(
    fc.property(looks, ({ life, at, later }) => {
      const records = logOf(life);
      const { state } = rightFold(records.slice(0, at % (records.length + 1)));
      const before = copyOf(state);
      const first = openEndOf(state, state.clock.now + later);
      expect(state).toEqual(before);
      expect(openEndOf(before, state.clock.now + later)).toEqual(first);
    }),
    { numRuns: 200, seed: SEED },
  );
});

it("summaryOf returns the same for a complete state and for the state's present part (presentOf)", () => {
  fc.assert(
    fc.property(looks, ({ life, at, later }) => {
      const records = logOf(life);
      const { state } = rightFold(records.slice(0, at % (records.length + 1)));
      const now = state.clock.now + later;
      expect(summaryOf(presentOf(state), now)).toEqual(summaryOf(state, now));
    }),
    { numRuns: 200, seed: SEED },
  );
});

it("durationsToday returns, from the state alone, the same times by mode as today's report", () => {
  fc.assert(
    fc.property(looks, ({ life, at, later }) => {
      const records = logOf(life, [11]).slice(0, 1 + (at % 400));
      const folded = foldRecords(records);
      const now = folded.state.clock.now + (later % (2 * HOUR_MS));
      const today = dayStart(folded.state.parameters?.tz ?? "UTC", now);
      const source = { reader: readerOf(folded), stream: "s", now_ms: now };
      const { by_mode } = durationByMode(source, { start: today, end: now });
      expect(withoutZero(durationsToday(folded.state, now))).toEqual(withoutZero(by_mode));
    }),
    { numRuns: 200, seed: SEED },
  );
});

function withoutZero(by_mode: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(by_mode).filter(([, ms]) => ms > 0));
}
