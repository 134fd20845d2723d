import { expect, it } from "vitest";
import { forgetModes } from "../../src/derivation/fold.ts";
import type { FactDraft } from "../../src/derivation/state.ts";
import { commit, foldRecords, stay } from "../support/booth.ts";
import { lived } from "../support/lives.ts";
import { PLAIN } from "../support/parameters.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

/** Returns mode and minutes of the stage facts, in order. */
function stagesIn(facts: readonly FactDraft[]): readonly (readonly [string, number])[] {
  return facts.flatMap((fact) =>
    fact.kind === "m" ? [[fact.value.mode, Math.round((fact.value.end - fact.value.start) / MINUTE_MS)] as const] : [],
  );
}

it("after forgetModes (log records are lost), time counts as no_data until a mode is logged again", () => {
  const booth = lived(PLAIN, [10 * MINUTE_MS, { mode: 3 }]);
  const first = booth.entries.length;
  // Polled all the time; the mode is logged only at the end.
  stay(booth, 30 * MINUTE_MS);
  for (const mode of [6, 1, 3]) stay(booth, 10 * MINUTE_MS, { mode });
  const records = commit(booth.entries, PLAIN, [first, booth.entries.length - first - 1, 1]);
  const split = commit(booth.entries.slice(0, first), PLAIN).length;
  const before = records.slice(0, split);
  const after = records.slice(split);

  expect(stagesIn(foldRecords(after, foldRecords(before).state).facts)).toEqual([
    ["spray", 40],
    ["bake", 10],
    ["idle", 10],
  ]);
  expect(stagesIn(foldRecords(after, forgetModes(foldRecords(before).state)).facts)).toEqual([
    ["spray", 10],
    ["no_data", 30],
    ["bake", 10],
    ["idle", 10],
  ]);
});
