import { describe, expect, it } from "vitest";
import type { Parameters } from "../../src/domain/parameters.ts";
import { enterFilter, fold, type Script, stay, T0 } from "../support/booth.ts";
import { live, lived } from "../support/lives.ts";
import { tag, withFilters } from "../support/parameters.ts";
import { DAY_MS, MINUTE_MS } from "../../src/domain/time.ts";

const LIMIT_PA = 125;

function parameters(baseline_pa?: number): Parameters {
  const fitted = { limits: { pressure_pa: LIMIT_PA }, ...(baseline_pa === undefined ? {} : { baseline_pa }) };
  const tags = { drop: tag("filter_pressure", "Pa", { filter: "exhaust_filter" }), fan: tag("fan_speed", "%") };
  return withFilters({ exhaust_filter: fitted }, tags);
}
const GIVEN = parameters(50);

/** Plays a spray stage of `ms` at this drop, then a minute of flash. */
function spray(booth: Script, drop: number, ms = 10 * MINUTE_MS): void {
  live(booth, [ms, { mode: 3, drop, fan: 100 }], [MINUTE_MS, { mode: 4 }]);
}

function exhaust(booth: Script, rules = GIVEN) {
  stay(booth, 2 * MINUTE_MS, { mode: 1 });
  return fold(booth.entries, rules, [6]).state.filters.exhaust_filter?.current;
}

describe("overuse by pressure drop", () => {
  it.each([
    [175, 175, null],
    [176, 175, null],
    [175, 176, null],
    [176, 176, 22],
  ])(
    "starts, over a clean drop of 50 Pa and with spray stages at %i Pa and then %i Pa, at minute %s (null: never)",
    (first, second, since) => {
      const booth = lived(GIVEN, [MINUTE_MS, { mode: 1, drop: 0, fan: 100 }]);
      spray(booth, first);
      spray(booth, second);
      const at = exhaust(booth)?.overuse[0]?.since;
      expect(at === undefined ? null : (at - T0) / MINUTE_MS).toBe(since);
    },
  );

  it.each([
    [4 * MINUTE_MS - 1, false],
    [4 * MINUTE_MS, true],
    [4 * MINUTE_MS + 1, true],
  ])("with one minute of settling time, counts a stage of %i ms: %s", (ms, counts) => {
    const booth = lived(GIVEN, [MINUTE_MS, { mode: 1, drop: 0, fan: 100 }]);
    spray(booth, 300, ms);
    spray(booth, 300);
    expect(exhaust(booth)?.overuse.length).toBe(counts ? 1 : 0);
  });

  it.each([
    [94.9, 0],
    [95, 2],
    [95.1, 2],
  ])("with fans at %f percent, counts %i of two spray stages", (fan, count) => {
    const booth = lived(GIVEN, [MINUTE_MS, { mode: 1, drop: 0, fan }]);
    for (let turn = 0; turn < 2; turn += 1) {
      live(booth, [10 * MINUTE_MS, { mode: 3, drop: 300, fan }], [MINUTE_MS, { mode: 4 }]);
    }
    expect(exhaust(booth)?.pressure.drops).toHaveLength(count);
  });

  it("uses the median over time, so that a short pressure peak has no effect", () => {
    const booth = lived(GIVEN, [MINUTE_MS, { mode: 1, drop: 0, fan: 100 }], [5 * MINUTE_MS, { mode: 3, drop: 60 }]);
    live(booth, [3 * MINUTE_MS, { drop: 900 }], [3 * MINUTE_MS, { mode: 4, drop: 0 }]);
    expect(exhaust(booth)?.pressure.drops).toMatchObject([{ pascal: 60 }]);
  });
});

it("the clean pressure drop of a filter is the median of its first three spray stages if none is configured", () => {
  const rules = parameters();
  const booth = lived(rules, [MINUTE_MS, { mode: 1, drop: 0, fan: 100 }]);
  for (const drop of [40, 60, 50]) spray(booth, drop);
  expect(exhaust(booth, rules)?.pressure.baseline).toBe(50);
  for (const drop of [176, 175, 176, 176]) spray(booth, drop);
  const filter = exhaust(booth, rules);
  expect(filter?.overuse).toHaveLength(1);
  expect(filter?.overuse[0]?.flagged).toBe(false);
});

it("the clean pressure drop of a new filter is determined again from the new filter's first spray stages", () => {
  const rules = parameters();
  const booth = lived(rules, [MINUTE_MS, { mode: 1, drop: 0, fan: 100 }]);
  for (const drop of [40, 60, 50, 300, 300]) spray(booth, drop);
  enterFilter(booth);
  for (const drop of [20, 30, 25]) spray(booth, drop);
  expect(exhaust(booth, rules)).toMatchObject({ pressure: { baseline: 25 }, overuse: [] });
});

describe("overuse by age, if the limit is reached during a silence", () => {
  const aged = withFilters({ exhaust_filter: { limits: { days: 1 } } });

  it.each([
    [DAY_MS - MINUTE_MS, false],
    [DAY_MS + MINUTE_MS, true],
  ])(
    "starts at the limit or at the first later reading (silence until %i ms, flagged as uncertain: %s)",
    (until, flagged) => {
      const booth = lived(aged, [MINUTE_MS, { mode: 1 }]);
      enterFilter(booth, 0);
      live(booth, [MINUTE_MS, {}], { gap_ms: until - 2 * MINUTE_MS }, [10 * MINUTE_MS, { mode: 1 }]);
      enterFilter(booth);
      stay(booth, 5 * MINUTE_MS, {});
      const last = fold(booth.entries, aged, [6]).facts.findLast(({ kind }) => kind === "f");
      expect(last).toMatchObject({ value: { maintenance: { overuse_since: T0 + Math.max(until, DAY_MS) } } });
      expect(last?.quality).toBe(flagged ? "uncertain" : "good");
    },
  );
});

it.each([
  [-1, 0, 1],
  [0, 1, 0],
  [1, 1, 0],
])(
  "a filter change %i ms after a spray stage assigns %i stage(s) to the old filter and %i to the new filter",
  (by, old, fresh) => {
    const booth = lived(GIVEN, [MINUTE_MS, { mode: 1, drop: 0, fan: 100 }], [10 * MINUTE_MS, { mode: 3, drop: 60 }]);
    const at = booth.now + by;
    stay(booth, MINUTE_MS, { mode: 4 });
    enterFilter(booth, at);
    stay(booth, 2 * MINUTE_MS, { mode: 1 });
    const filter = fold(booth.entries, GIVEN, [6]).state.filters.exhaust_filter;
    expect([filter?.former?.pressure.drops.length, filter?.current.pressure.drops.length]).toEqual([old, fresh]);
  },
);
