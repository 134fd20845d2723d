import fc from "fast-check";
import { test } from "vitest";

import { mutatedAnswers } from "../support/mutated-modbus.ts";

test("a million mutated answers: no crash, no wrong value", { timeout: 1_800_000 }, async () => {
  await fc.assert(mutatedAnswers(), { numRuns: 1_000_000 });
});
