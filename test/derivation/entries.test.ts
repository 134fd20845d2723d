import { describe, expect, it } from "vitest";
import { counterOffsets } from "../../src/derivation/filters/changes.ts";
import { entriesOf } from "../../src/derivation/filters/entries.ts";
import { usedMinutes } from "../../src/derivation/filters/installation.ts";
import type { Installation } from "../../src/derivation/state.ts";
import type { Parameters } from "../../src/domain/parameters.ts";
import { forget, put, run, script, type Script, silence, stay, T0, valuesOf } from "../support/booth.ts";
import { exhaustFilter, live, lived } from "../support/lives.ts";
import { minutesTag, tag, withFilters } from "../support/parameters.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/domain/time.ts";

const OWN = withFilters({ exhaust_filter: { limits: { minutes: 100 } } });
const COUNTED = withFilters(
  { exhaust_filter: { limits: { minutes: 100 } } },
  { exhaust: minutesTag("exhaust_filter"), button: tag("filter_reset", "", { filter: "exhaust_filter" }) },
);

interface Entered {
  readonly ago_ms?: number;
  readonly filter?: "exhaust_filter" | "pre_filter";
}

function enter(booth: Script, id: string, { ago_ms = 0, filter = "exhaust_filter" }: Entered = {}): void {
  // The raw clock's time is wrong and must not be used.
  const value = {
    filter,
    source: "technician",
    installed_at: 40 * HOUR_MS,
    ago_ms,
    flagged: false,
    by: "alex",
    id,
  } as const;
  put(booth, { kind: "f", value });
}

function undo(booth: Script, parameters: Parameters, id: string): void {
  const inputs = run(booth, parameters).records.filter(({ kind }) => kind === "f");
  const seq = inputs.find(({ value }) => (value as { id?: string }).id === id)?.seq ?? 0;
  put(booth, { kind: "x", value: { seq, by: "alex" } });
}

const told = (booth: Script, parameters = OWN) => {
  const { state } = run(booth, parameters);
  return entriesOf(state, state.clock.now).map(({ id, installed_at, outcome, undo_until }) => [
    id,
    (installed_at - T0) / MINUTE_MS,
    outcome,
    undo_until === null ? null : (undo_until - T0) / HOUR_MS,
  ]);
};

const minutesOf = (filter: Installation | undefined): number | null =>
  filter === undefined ? null : usedMinutes(filter);

describe("a filter entry", () => {
  it("is dated back in the booth's corrected time, and can be undone for a day", () => {
    const booth = lived(OWN, [HOUR_MS, { mode: 3 }]);
    enter(booth, "one", { ago_ms: 20 * MINUTE_MS });
    live(booth, [5 * MINUTE_MS], [5000, { mode: 1 }]);
    expect(told(booth)).toEqual([["one", 40, "entered", 25]]);
    const { current, former } = exhaustFilter(booth, OWN) ?? {};
    expect([former?.in_use_ms, current?.in_use_ms]).toEqual([40 * MINUTE_MS, 25 * MINUTE_MS]);
  });

  it.each([
    ["has no effect if it is repeated", ["one", "one"], [["one", "entered"]]],
    [
      "is the same change as an entry less than 10 min before",
      ["one", "two"],
      [
        ["one", "entered"],
        ["two", "same_change"],
      ],
    ],
  ])("%s (ids %j)", (_, ids, expected) => {
    const booth = lived(OWN, [HOUR_MS, { mode: 3 }]);
    for (const id of ids) {
      enter(booth, id);
      stay(booth, 5 * MINUTE_MS);
    }
    expect(told(booth).map(([id, , outcome]) => [id, outcome])).toEqual(expected);
  });

  it('has the outcome "older" if dated before the present filter, and "not_fitted" if the booth has no such filter', () => {
    const booth = lived(OWN, [HOUR_MS, { mode: 3 }]);
    enter(booth, "now");
    stay(booth, 30 * MINUTE_MS);
    enter(booth, "before", { ago_ms: 40 * MINUTE_MS });
    enter(booth, "none", { filter: "pre_filter" });
    stay(booth, 5000);
    const outcomes = told(booth).map(([id, , outcome]) => [id, outcome]);
    expect(outcomes).toEqual([
      ["now", "entered"],
      ["before", "older"],
      ["none", "not_fitted"],
    ]);
  });

  it("dated before first contact dates the booth's first filter, and can be undone", () => {
    const booth = lived(COUNTED, [HOUR_MS, { mode: 3, exhaust: 5_990 }]);
    enter(booth, "before", { ago_ms: 3 * HOUR_MS });
    // The agent logs the counter again after an entry.
    forget(booth);
    live(booth, [30 * MINUTE_MS, { mode: 3, exhaust: 5_990 }], [MINUTE_MS, { mode: 1, exhaust: 6_020 }]);
    const { facts, state } = run(booth, COUNTED);
    expect(told(booth, COUNTED).map(([id, , outcome]) => [id, outcome])).toEqual([["before", "entered"]]);
    const filter = state.filters.exhaust_filter?.current;
    expect(minutesOf(filter)).toBeCloseTo(90, 6);
    expect(filter).toMatchObject({ installed_at: T0 - 2 * HOUR_MS, source: "technician", known: true, overuse: [] });
    expect(valuesOf(facts, "f").map(({ source, maintenance }) => [source, maintenance])).toEqual([
      ["assumed", null],
      ["technician", null],
    ]);
    undo(booth, COUNTED, "before");
    stay(booth, 5000);
    const before = exhaustFilter(booth, COUNTED)?.current;
    expect(before).toMatchObject({ installed_at: T0, source: "assumed", known: false });
    expect(minutesOf(before)).toBeCloseTo(6_020, 6);
  });

  it("made before the first reading dates the booth's first filter, and can be undone", () => {
    const booth = script(OWN);
    silence(booth, 2 * MINUTE_MS);
    enter(booth, "early", { ago_ms: MINUTE_MS });
    stay(booth, MINUTE_MS, { mode: 1 });
    const fitted = () => {
      const { facts } = run(booth, OWN);
      return valuesOf(facts, "f").map(({ source, installed_at, maintenance }) => [
        source,
        (installed_at - T0) / MINUTE_MS,
        maintenance,
      ]);
    };
    expect(told(booth).map(([id, at, outcome]) => [id, at, outcome])).toEqual([["early", 1, "entered"]]);
    expect(fitted()).toEqual([["technician", 1, null]]);
    undo(booth, OWN, "early");
    stay(booth, 5000);
    expect(fitted().slice(1)).toEqual([["assumed", 2, null]]);
  });

  it("stays undone if the same entry arrives again after the undo", () => {
    const booth = lived(OWN, [HOUR_MS, { mode: 3 }]);
    enter(booth, "slip");
    stay(booth, 30 * MINUTE_MS);
    undo(booth, OWN, "slip");
    stay(booth, 5000);
    enter(booth, "slip");
    stay(booth, 5000);
    expect(told(booth)).toEqual([["slip", 60, "undone", null]]);
    expect(exhaustFilter(booth, OWN)?.current.installed_at).toBe(T0);
  });

  it("cannot be undone after more than a day", () => {
    const booth = lived(OWN, [HOUR_MS, { mode: 1 }]);
    enter(booth, "old");
    stay(booth, 25 * HOUR_MS);
    undo(booth, OWN, "old");
    stay(booth, 5000);
    expect(told(booth)).toEqual([["old", 60, "entered", null]]);
  });

  it("leaves a later PLC reset in place when the entry is undone", () => {
    const booth = lived(COUNTED, [HOUR_MS, { mode: 3, exhaust: 30, button: false }]);
    enter(booth, "one");
    live(booth, [13 * HOUR_MS, { mode: 1 }], [MINUTE_MS, { button: true, exhaust: 0 }]);
    expect(told(booth, COUNTED)).toEqual([["one", 60, "entered", null]]);
    undo(booth, COUNTED, "one");
    stay(booth, 5000);
    expect(exhaustFilter(booth, COUNTED)?.current).toMatchObject({
      source: "plc_reset",
      installed_at: T0 + 14 * HOUR_MS,
    });
  });

  it.each([
    [31, 32, 1],
    [32, 32, 0],
    [33, 32, 1],
  ])("is kept among the last entries: after %i entries, at most the last %i are kept", (count, kept, first) => {
    const booth = script(OWN);
    for (let one = 0; one < count; one += 1) {
      stay(booth, HOUR_MS, { mode: 1 });
      enter(booth, `entry ${one}`);
    }
    stay(booth, 5000);
    const ids = told(booth).map(([id]) => id);
    expect(ids).toHaveLength(Math.min(count, kept));
    expect(ids[0]).toBe(`entry ${count > kept ? first : 0}`);
  });
});

describe("the PLC's filter counter after an entry", () => {
  /** The counter shows 60.9 min; the last logged value is 60, within the deadband. */
  function entered(ago_ms: number): Script {
    const booth = script(COUNTED);
    live(booth, [MINUTE_MS, { mode: 1, exhaust: 50, button: false }], [10 * MINUTE_MS, { mode: 3, exhaust: 60 }]);
    enter(booth, "one", { ago_ms });
    forget(booth);
    stay(booth, 1, { mode: 3, exhaust: 60.9, button: false });
    return booth;
  }

  it.each([
    [0, 60, -60.9],
    [4 * MINUTE_MS, 56, -56.9],
  ])(
    "dated back by %i ms gives the old filter %f min and the new filter an offset of %f min",
    (ago_ms, old, offset) => {
      const booth = entered(ago_ms);
      stay(booth, 5000, { mode: 1 });
      const { state } = run(booth, COUNTED);
      const { former } = state.filters.exhaust_filter ?? {};
      expect((former?.plc?.offset ?? NaN) + (former?.plc?.value ?? NaN)).toBeCloseTo(old, 9);
      expect(counterOffsets(state)["exhaust_filter"]).toBeCloseTo(offset, 9);
    },
  );

  it.each([
    [99.9, false],
    [100, true],
    [100.1, true],
  ])("starts overuse (limit 100 min) once the counter has risen by %f min: %s", (minutes, is) => {
    const booth = entered(0);
    live(booth, [90 * MINUTE_MS, { mode: 3 }], [5000, { exhaust: 60.9 + minutes }], [5000, { mode: 1 }]);
    expect(exhaustFilter(booth, COUNTED)?.current.overuse.length).toBe(is ? 1 : 0);
  });

  it("belongs to the old filter again if the entry is withdrawn before the counter is read", () => {
    const booth = script(COUNTED);
    live(booth, [MINUTE_MS, { mode: 1, exhaust: 50, button: false }], [10 * MINUTE_MS, { mode: 3, exhaust: 60 }]);
    enter(booth, "one", { ago_ms: 4 * MINUTE_MS });
    undo(booth, COUNTED, "one");
    stay(booth, 5000, { mode: 1 });
    const { current } = exhaustFilter(booth, COUNTED) ?? {};
    expect((current?.plc?.offset ?? NaN) + (current?.plc?.value ?? NaN)).toBeCloseTo(60, 9);
  });

  it("has no offset if the PLC resets the counter", () => {
    const booth = lived(COUNTED, [MINUTE_MS, { mode: 1, exhaust: 50, button: false }], [MINUTE_MS, { exhaust: 0 }]);
    stay(booth, 5000);
    expect(counterOffsets(run(booth, COUNTED).state)).toEqual({});
  });
});
