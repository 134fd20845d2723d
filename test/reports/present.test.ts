import fc from "fast-check";
import { expect, it } from "vitest";
import { openEndOf, presentOf } from "../../src/derivation/fold.ts";
import { summaryOf } from "../../src/reports/summary.ts";
import { copyOf, logOf, rightFold } from "../derivation/folds.ts";
import { steppedWalks } from "../derivation/streams.ts";
import { seedOf } from "../support/seed.ts";

const SEED = seedOf("test/reports/present");
const HOUR = 3_600_000;
/** A life stopped at some record, and looked at so much later. */
const looks = fc.record({ life: steppedWalks, at: fc.nat(10_000), later: fc.nat(40 * HOUR) });

it("whoever looks at a state leaves it as it is", () => {
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

it("what is shown of a booth is the same by the present part of its state", () => {
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
