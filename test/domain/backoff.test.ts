import fc from "fast-check";
import { expect, test } from "vitest";

import { fullJitter } from "../../src/domain/retrying.ts";

const BACKOFF = { base_ms: 1000, cap_ms: 300_000 };

test("full jitter lies in [0, min(cap, base x 2^attempt)), at any attempt", () => {
  const rnd = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  fc.assert(
    fc.property(fc.nat(100_000), rnd, (attempt, drawn) => {
      const wait = fullJitter(attempt, BACKOFF, () => drawn);
      return Number.isInteger(wait) && wait >= 0 && wait < Math.min(300_000, 1000 * 2 ** attempt);
    }),
    { numRuns: 300 },
  );
});

test("it grows with the attempts up to the cap", () => {
  expect([0, 1, 2, 20, 5000].map((attempt) => fullJitter(attempt, BACKOFF, () => 0.5))).toEqual([
    500, 1000, 2000, 150_000, 150_000,
  ]);
});
