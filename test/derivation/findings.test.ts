import fc from "fast-check";
import { expect, it } from "vitest";
import { step } from "../../src/derivation/fold.ts";
import { emptyState } from "../../src/derivation/state.ts";
import { findingOf } from "../../src/domain/finding.ts";
import { render } from "../../src/domain/messages/render.ts";
import { KIND } from "../../src/domain/record.ts";
import { logOf } from "./folds.ts";
import { steppedWalks } from "./streams.ts";

const LIVES = 20;

it("each incident in random booth histories has a finding whose text has no unfilled placeholder", () => {
  const codes = new Set<string>();
  for (const walk of fc.sample(steppedWalks, { seed: 1, numRuns: LIVES })) {
    let state = emptyState();
    for (const record of logOf(walk)) {
      const next = step(state, record);
      state = next.state;
      for (const fact of next.facts) {
        if (fact.kind !== KIND.incident) continue;
        const finding = findingOf(fact.value);
        expect(finding, JSON.stringify(fact.value)).not.toBeNull();
        if (finding === null) continue;
        codes.add(finding.code);
        expect(render(finding)).not.toMatch(/[{}]/);
      }
    }
  }
  expect(codes.size).toBeGreaterThan(4);
});
