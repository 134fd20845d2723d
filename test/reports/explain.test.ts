import { expect, it } from "vitest";
import { explainText, registerIn } from "../../src/cli/explain.ts";
import { findProfile } from "../../src/config/profile.ts";
import type { Parameters } from "../../src/domain/parameters.ts";
import { explain, EXPLAINABLE, type Explanation } from "../../src/reports/explain.ts";
import type { Source } from "../../src/reports/source.ts";
import { fold, type Folded, poll, script, stay, T0 } from "../support/booth.ts";
import { live, lived } from "../support/lives.ts";
import { minutesTag, tag, withFilters } from "../support/parameters.ts";
import { readerOf } from "../support/reader.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

const STEPS = { step: 0.01, max_rate_per_h: 100, retained: true };

const BOOTH: Parameters = {
  ...withFilters(
    { exhaust_filter: { limits: { minutes: 100 } } },
    {
      firmware: tag("firmware_version"),
      exhaust: minutesTag("exhaust_filter"),
      gas: tag("gas", "therm", { counter: STEPS, factor: 2 }),
      energy: tag("kwh", "kWh", { counter: STEPS }),
    },
  ),
  working_hours: [{ day: "monday", enabled: true, start: "00:00:00", stop: "01:00:00" }],
};

/** A job of 70 min with a late filter change, version strings, and an unmapped mode code. */
function folded(): Folded {
  const booth = script(BOOTH);
  const versions = { firmware: "3.41" };
  stay(booth, 2 * MINUTE_MS, { mode: 1, cycles: 7, meter: 0, exhaust: 99, gas: 1, energy: 5, ...versions });
  stay(booth, 30 * MINUTE_MS, { mode: 3, gas: 3, energy: 9 });
  stay(booth, 30 * MINUTE_MS, { mode: 6, exhaust: 129, gas: 4 });
  live(booth, [10 * MINUTE_MS, { mode: 8, cycles: 8, exhaust: 159 }], [2 * MINUTE_MS, { mode: 1, exhaust: 0 }]);
  live(booth, [5 * MINUTE_MS, { mode: 99 }], [20 * MINUTE_MS, { mode: 1 }]);
  poll(booth);
  return fold(booth.entries, BOOTH, [30]);
}

function explained(): { readonly source: Source; readonly of: (figure: string) => Explanation; readonly made: Folded } {
  const made = folded();
  const source: Source = { reader: readerOf(made), stream: "s", now_ms: T0 + 99 * MINUTE_MS };
  const window = { start: T0, end: T0 + 98 * MINUTE_MS };
  const of = (figure: string): Explanation => {
    const found = explain(source, figure, window);
    if (found === null) throw new Error(`no way to explain ${figure}`);
    return found;
  };
  return { source, of, made };
}

it.each(EXPLAINABLE)("the explanation of %s lists parts, rules, and readings that exist in the log", (figure) => {
  const { of, made } = explained();
  const { parts, rules, value, coverage, window } = of(figure);
  expect(parts.length).toBeGreaterThan(0);
  expect(rules.length).toBeGreaterThan(4);
  expect(Object.values(value).every(Number.isFinite)).toBe(true);
  expect(coverage.observed_ms + coverage.inferred_ms + coverage.missing_ms).toBe(window.end - window.start);
  const evidence = parts.flatMap((part) => part.evidence);
  // Working hours come from the facility, not from a reading.
  expect(evidence.length > 0).toBe(figure !== "working_minutes");
  for (const { seq, tag: name, value: held } of evidence)
    expect(made.records.find((record) => record.seq === seq)).toMatchObject({ kind: "r", tag: name, value: held });
});

it.each([
  ["runtime", "runtime_ms", 70 * MINUTE_MS],
  ["runtime_series", "runtime_ms", 70 * MINUTE_MS],
  ["utilization", "in_use_ms", 60 * MINUTE_MS],
  ["working_minutes", "working_ms", 60 * MINUTE_MS],
  ["cycle_count", "cycle_count", 1],
  ["gas_usage", "gas_therm", 6],
  ["kwh_usage", "energy_kwh", 4],
  ["filter_maintenance_history", "changes", 1],
  ["revision_history", "entries", 1],
])("the parts in the explanation of %s add up to its %s of %d", (figure, name, amount) => {
  const { value, parts } = explained().of(figure);
  expect(value[name]).toBeCloseTo(amount, 6);
  expect(parts.reduce((sum, part) => sum + part.amount, 0)).toBeCloseTo(amount, 6);
});

it("the explanation of filter changes, versions, incidents and overuse names the readings that prove them", () => {
  const { of } = explained();
  const evidenceOf = (figure: string): unknown[] =>
    of(figure).parts.flatMap(({ evidence }) => evidence.map(({ tag: name, value }) => [name, value]));
  expect(evidenceOf("filter_maintenance_history")).toEqual([["exhaust", 0]]);
  expect(evidenceOf("revision_history")).toEqual([["firmware", "3.41"]]);
  expect(evidenceOf("validation_incidents")).toContainEqual(["mode", 99]);
  expect(of("overuse").parts[0]?.evidence[0]?.tag).toBe("exhaust");
});

it("the text of an explanation lists the figure, its rules, and its readings with their registers", () => {
  const { of } = explained();
  const register = registerIn(findProfile("click-booth"));
  const text = explainText(of("runtime"), register, "UTC");
  expect(text).toMatch(/^runtime from 2025-03-03 00:00:00 UTC to 2025-03-03 01:38:00 UTC\n {2}runtime: 70 min\n/);
  expect(text).toMatch(/\nrules\n {2}definitions version \d+, profile test 1.0.0\n/);
  expect(text).toMatch(/: mode = 3 \(good\) at 2025-03-03 00:02:00 UTC; holding 0 \(uint16\) held 3\n/);
  expect(explainText(of("gas_usage"), register, "UTC")).toMatch(/gas_therm: 6 therm\n/);
  expect(explain(explained().source, "__proto__", { start: T0, end: T0 + MINUTE_MS })).toBeNull();
});

it.each([
  {
    figure: "gas_usage",
    value: { gas_therm: 5 },
    rule: "burner size (1000000 BTU/h) x modulation",
    load: "flame",
  },
  {
    figure: "kwh_usage",
    value: { energy_kwh: 14.914 },
    rule: "motor size (20 hp) x fan speed cubed",
    load: "fan",
  },
])("the explanation of $figure without a meter calls the figure an estimate", ({ figure, value, rule, load }) => {
  const sized: Parameters = {
    ...BOOTH,
    tags: { mode: tag("mode"), flame: tag("burner_modulation", "%"), fan: tag("fan_speed", "%") },
    burner_size_btu_h: 1_000_000,
    motor_size_hp: 20,
  };
  const booth = lived(sized, [60 * MINUTE_MS, { mode: 3, flame: 50, fan: 100 }]);
  poll(booth, { mode: 1, flame: 0, fan: 0 });
  const source = { reader: readerOf(fold(booth.entries, sized)), stream: "s", now_ms: T0 + 61 * MINUTE_MS };
  const found = explain(source, figure, { start: T0, end: source.now_ms });
  expect(found?.value).toEqual(value);
  expect(found?.rules.some((text) => text.startsWith(`an estimate: ${rule}`))).toBe(true);
  expect(found?.parts.flatMap(({ evidence }) => evidence.map((one) => one.tag))).toEqual([load, load]);
});
