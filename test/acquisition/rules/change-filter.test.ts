import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { filterChanges, type FilterState, logRules } from "../../../src/acquisition/rules/change-filter.ts";
import type { TagValue } from "../../../src/domain/booth.ts";
import type { Sample } from "../../../src/domain/taken.ts";
import { minutesTag } from "../../support/parameters.ts";

const TAGS = { t: { deadband: 1, heartbeat_ms: 1000 } };

/** Returns the logged values of those polled every `every` ms. */
function logged(values: readonly TagValue[], every = 1, tags: Parameters<typeof filterChanges>[2] = TAGS): TagValue[] {
  const state: FilterState = new Map();
  return values.flatMap((value, i) => {
    const quality = value === null ? "bad" : "good";
    const changes = filterChanges(state, { mono: i * every, samples: [{ tag: "t", value, quality }] }, tags);
    return changes.map((change) => change.value);
  });
}

describe("change filter", () => {
  test("logs a number once it differs from the last logged number by more than the deadband, even after slow drift", () => {
    expect(logged([10, 11, 10.5, 11.1, 12, 12.2])).toEqual([10, 11.1, 12.2]);
  });

  test.each([
    {
      name: "a positive value",
      deadband: 0,
      values: [100, 110, 110.1, 100, 99, 99.1],
      expected: [100, 110.1, 99],
    },
    {
      name: "a negative value",
      deadband: 0,
      values: [-100, -90, -89.9],
      expected: [-100, -89.9],
    },
    { name: "0, so that every change is logged", deadband: 0, values: [0, 0.01], expected: [0, 0.01] },
    {
      name: "near 0 the absolute deadband applies",
      deadband: 1,
      values: [0, 1, 1.1, 2.1, 2.2],
      expected: [0, 1.1, 2.2],
    },
    { name: "far from 0 the percentage applies", deadband: 1, values: [100, 105, 110.5], expected: [100, 110.5] },
  ])("applies a percentage deadband to the last logged value: $name", ({ deadband, values, expected }) => {
    expect(logged(values, 1, { t: { deadband, deadband_percent: 10, heartbeat_ms: 1000 } })).toEqual(expected);
  });

  test.each([
    [5999.8, []],
    [5999.9, []],
    [6000, [6000]],
    [6000.1, [6000.1]],
  ])(
    "logs a small rise of a filter counter from 5999.5 to %d min only if it reaches the limit of 6,000 min: %j",
    (value, expected) => {
      const tags = { minutes: { ...minutesTag("exhaust_filter"), deadband: 1 } };
      const rules = logRules({ tags, filters: { exhaust_filter: { limits: { minutes: 6000 } } } });
      const sample = (mono: number, one: number) => ({
        mono,
        samples: [{ tag: "minutes", value: one, quality: "good" } as const],
      });
      const state: FilterState = new Map();
      filterChanges(state, sample(0, 5999.5), rules);
      const next = filterChanges(state, sample(1, value), rules);
      expect(next.map((change) => change.value)).toEqual(expected);
      // Then the deadband applies again.
      expect(filterChanges(state, sample(2, value + 0.05), rules)).toEqual([]);
    },
  );

  test.each([
    ["h", 1, 100],
    ["min", 1, 6000],
    ["s", 1, 360_000],
    ["h", 0.1, 1000],
  ])(
    "converts a filter limit of 6,000 min into the threshold of a counter in %s with factor %d: %d",
    (unit, factor, mark) => {
      const tags = { used: { ...minutesTag("exhaust_filter"), unit, factor } };
      const filters = { exhaust_filter: { limits: { minutes: 6000 } } };
      expect(logRules({ tags, filters })["used"]?.mark).toBeCloseTo(mark, 9);
      expect(logRules({ tags, filters: {} })["used"]?.mark).toBeUndefined();
      // After a filter change that the PLC doesn't know about, its counter reaches the limit later.
      const later = logRules({ tags, filters }, { exhaust_filter: -600 })["used"]?.mark;
      expect(later).toBeCloseTo(mark * 1.1, 9);
    },
  );

  test.each([
    { name: "an uptime", rule: { role: "uptime" }, expected: [100, 20, 1000] },
    {
      name: "a counter",
      rule: { counter: { step: 1, retained: true } },
      expected: [100, 20, 1000],
    },
    {
      name: "a counter that falls less than a step",
      rule: { counter: { step: 80.1, retained: true } },
      expected: [100, 1000],
    },
    { name: "any other number", rule: {}, expected: [100, 1000] },
  ] as const)("logs a fall smaller than the deadband only for an uptime or a counter: $name", ({ rule, expected }) => {
    const tags = { t: { deadband: 500, heartbeat_ms: 1000, ...rule } };
    expect(logged([100, 20, 30, 400, 1000], 1, tags)).toEqual(expected);
  });

  test("logs every change of text, booleans and quality", () => {
    expect(logged(["a", "a", "b"])).toEqual(["a", "b"]);
    expect(logged([true, true, false])).toEqual([true, false]);
    expect(logged([1, null, null, 1])).toEqual([1, null, 1]);
    expect(logged([1, "1", 1])).toEqual([1, "1", 1]);
  });

  test("logs an unchanged value when its heartbeat is due, counted from its last record", () => {
    expect(logged([5, 5, 5, 5, 5], 500)).toEqual([5, 5, 5]);
  });

  test("logs every tag once after its state was cleared", () => {
    const poll = (mono: number): { mono: number; samples: Sample[] } => ({
      mono,
      samples: [{ tag: "t", value: 1, quality: "good" }],
    });
    const state: FilterState = new Map();
    expect(filterChanges(state, poll(0), TAGS).length).toBe(1);
    expect(filterChanges(state, poll(1), TAGS)).toEqual([]);
    state.clear();
    expect(filterChanges(state, poll(1), TAGS).length).toBe(1);
  });

  test("logs every change of a tag without parameters, even if it is named like a property of Object", () => {
    const sample = (value: number): Sample => ({ tag: "constructor", value, quality: "good" });
    const state: FilterState = new Map();
    filterChanges(state, { mono: 0, samples: [sample(1)] }, {});
    expect(filterChanges(state, { mono: 1, samples: [sample(1)] }, {})).toEqual([]);
    expect(filterChanges(state, { mono: 1, samples: [sample(1.001)] }, {}).length).toBe(1);
  });

  test("logs null for a non-finite number, and keeps the last logged value within the deadband of the polled value", () => {
    const number = fc.oneof(fc.double(), fc.integer({ min: -5, max: 5 }));
    fc.assert(
      fc.property(fc.array(number, { maxLength: 50 }), (values) => {
        const state: FilterState = new Map();
        let last: TagValue = null;
        return values.every((value, i) => {
          const poll = { mono: i, samples: [{ tag: "t", value, quality: "good" }] as const };
          const changes = filterChanges(state, poll, TAGS);
          last = changes[0] === undefined ? last : changes[0].value;
          if (!Number.isFinite(value)) return last === null;
          return typeof last === "number" && Number.isFinite(last) && Math.abs(value - last) <= 1;
        });
      }),
    );
  });
});
