import fc from "fast-check";
import { expect, it } from "vitest";
import { saidOf } from "../../src/api/said.ts";
import { step } from "../../src/derivation/fold.ts";
import { emptyState } from "../../src/derivation/state.ts";
import type { Parameters } from "../../src/domain/parameters.ts";
import { KIND } from "../../src/domain/record.ts";
import { forget, run, stay, valuesOf } from "../support/booth.ts";
import { lived } from "../support/lives.ts";
import { PARAMETERS, tag } from "../support/parameters.ts";
import { logOf } from "./folds.ts";
import { steppedWalks } from "./streams.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

const codeOf = (text: string): string | null => {
  const said = saidOf(text);
  return said === null || !("code" in said) ? null : said.code;
};
const LIVES = 20;

/** Checks of each reading build their text without the sentence table, because most texts are not used. */
const SENSED: Parameters = {
  ...PARAMETERS,
  tags: { ...PARAMETERS.tags, air: tag("air_temperature", "C", { between: { min: -20, max: 150 } }) },
};

it.each([
  ["incident.between", 200],
  ["incident.stuck", 21],
  ["incident.stuck", 0],
])("%s is one of the sentences, with the value %i", (code, air) => {
  const booth = lived(SENSED, [40 * MINUTE_MS, { mode: 3, air }]);
  forget(booth);
  stay(booth, 2 * MINUTE_MS, { mode: 3, air });
  const reasons = valuesOf(run(booth, SENSED).facts, "i").map(({ reason }) => codeOf(reason));
  expect(reasons).toContain(code);
});

it("whatever is found in random lives is one of the sentences", () => {
  const codes = new Set<string>();
  const unsaid = new Set<string>();
  for (const walk of fc.sample(steppedWalks, { seed: 1, numRuns: LIVES })) {
    let state = emptyState();
    for (const record of logOf(walk)) {
      const next = step(state, record);
      state = next.state;
      for (const fact of next.facts) {
        if (fact.kind !== KIND.incident) continue;
        const code = codeOf(fact.value.reason);
        if (code === null) unsaid.add(fact.value.reason);
        else codes.add(code);
      }
    }
  }
  expect([...unsaid]).toEqual([]);
  expect(codes.size).toBeGreaterThan(4);
});
