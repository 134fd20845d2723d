import { expect, test } from "vitest";
import { openEndOf } from "../../src/derivation/fold.ts";
import type { Parameters } from "../../src/domain/parameters.ts";
import { run, script, stay, T0, valuesOf } from "../support/booth.ts";
import { live } from "../support/lives.ts";
import { PLAIN, tag } from "../support/parameters.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

const TWO: Parameters = {
  ...PLAIN,
  bay_count: 2,
  tags: { left: tag("mode", "", { bay: 1 }), right: tag("mode", "", { bay: 2 }) },
};

test("a booth with two bays shows the mode of higher priority, and each cycle belongs to one bay", () => {
  const booth = script(TWO);
  stay(booth, 5 * MINUTE_MS, { left: 1, right: 1 });
  live(booth, [20 * MINUTE_MS, { left: 3 }], [10 * MINUTE_MS, { left: 6, right: 3 }], [10 * MINUTE_MS, { left: 8 }]);
  stay(booth, 10 * MINUTE_MS, { left: 1, right: 1 });
  const { facts, state } = run(booth, TWO);
  const stages = valuesOf(facts, "m")
    .filter(({ bay }) => bay === 0)
    .map(({ mode, start, end }) => [mode, (start - T0) / MINUTE_MS, (end - T0) / MINUTE_MS]);
  expect(stages).toEqual([
    ["idle", 0, 5],
    ["spray", 5, 25],
    ["bake", 25, 35],
    ["cool_down", 35, 45],
  ]);
  expect(valuesOf(facts, "c").map(({ bay, result }) => [bay, result])).toEqual([
    [1, "complete"],
    [2, "complete_no_bake"],
  ]);
  const open_end = openEndOf(state, T0 + booth.now).stages;
  expect(open_end.map(({ mode, start, end }) => [mode, start - T0, end - T0])).toEqual([
    ["idle", 45 * MINUTE_MS, booth.now],
  ]);
});
