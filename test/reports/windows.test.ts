import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { boxAnswer } from "../support/figures.ts";
import type { Parameters } from "../../src/domain/parameters.ts";
import { localBuckets } from "../../src/reports/buckets.ts";
import { explain } from "../../src/reports/explain.ts";
import { validationIncidents } from "../../src/reports/findings.ts";
import { recentStages, runtime, utilization } from "../../src/reports/usage.ts";
import { historyPage, latestValuesBefore } from "../../src/reports/values.ts";
import { csvLine, intervalBody } from "../../src/contract/reports.ts";
import { put, script, stay, T0 } from "../support/booth.ts";
import { live, lived } from "../support/lives.ts";
import { PARAMETERS, PLAIN } from "../support/parameters.ts";
import { sourceOf } from "../support/reader.ts";
import { casesOf, seedOf } from "../support/seed.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../src/domain/time.ts";

const SEED = seedOf("test/reports/windows");

describe("local buckets (hours, days, weeks or months in a time zone)", () => {
  it("cover the report window without gaps or overlaps for any zone and unit", () => {
    const zones = fc.constantFrom("UTC", "America/Denver", "Australia/Lord_Howe", "Asia/Kolkata", "America/St_Johns");
    const units = fc.constantFrom("hour" as const, "day" as const, "week" as const, "month" as const);
    const asks = fc.record({
      tz: zones,
      unit: units,
      from: fc.nat(400 * 24),
      length: fc.integer({ min: 1, max: 20 * 24 }),
    });
    fc.assert(
      fc.property(asks, ({ tz, unit, from, length }) => {
        const window = { start: T0 + from * HOUR_MS + 1234, end: T0 + (from + length) * HOUR_MS };
        const buckets = localBuckets(tz, window, unit);
        const tiles = buckets.every(
          ({ start, end }, at) => end > start && start === (buckets[at - 1]?.end ?? window.start),
        );
        return tiles && buckets.at(-1)?.end === window.end;
      }),
      { numRuns: casesOf(300), seed: SEED },
    );
  });

  it("start on the 1st if they are months, and on Monday if they are weeks", () => {
    const year = { start: Date.UTC(2024, 0, 15), end: Date.UTC(2024, 3, 1) };
    const days = (unit: "week" | "month"): string[] =>
      localBuckets("UTC", year, unit).map(({ start }) => new Date(start).toISOString().slice(5, 10));
    expect(days("month")).toEqual(["01-15", "02-01", "03-01"]);
    expect(days("week").slice(0, 3)).toEqual(["01-15", "01-22", "01-29"]);
  });
});

it("each moment is counted by the mode sets, working hours and time zone in force at that moment", () => {
  const shift = (start: string, stop: string) => ({ day: "monday", enabled: true, start, stop }) as const;
  const before = { ...PLAIN, working_hours: [shift("00:00:00", "03:00:00")] };
  const after = {
    ...before,
    tz: "Asia/Kolkata",
    mode_sets: { ...PLAIN.mode_sets, in_use: ["spray" as const], runtime: ["spray" as const] },
    working_hours: [shift("07:00:00", "07:15:00")],
  };
  const booth = lived(before, [30 * MINUTE_MS, { mode: 4 }], [30 * MINUTE_MS, { mode: 3 }]);
  put(booth, { kind: "p", value: after });
  live(booth, [30 * MINUTE_MS, { mode: 4 }], [30 * MINUTE_MS, { mode: 3 }]);
  const source = sourceOf(booth, before);
  const window = { start: T0, end: T0 + 2 * HOUR_MS };
  // The first hour is in use completely, the second one only in spray. 07:00 in Kolkata is 01:30 UTC.
  expect(runtime(source, window).runtime_ms).toBe(90 * MINUTE_MS);
  expect(utilization(source, window)).toMatchObject({
    in_use_ms: 90 * MINUTE_MS,
    working_ms: 75 * MINUTE_MS,
    in_use_working_ms: 75 * MINUTE_MS,
  });
  const rules = explain(source, "runtime", window)?.rules.filter((rule) => rule.includes("the set runtime"));
  expect(rules).toHaveLength(2);
});

it("working hours count in a silence, but not before the booth's first reading", () => {
  const monday = { ...PLAIN, working_hours: [{ day: "monday", enabled: true, start: "00:00:00", stop: "02:00:00" }] };
  const parameters = monday as Parameters;
  const booth = lived(parameters, [HOUR_MS, { mode: 3 }]);
  const source = { ...sourceOf(booth, parameters), now_ms: T0 + 7 * DAY_MS + 2 * HOUR_MS };
  const month = { start: T0 - 30 * DAY_MS, end: T0 + HOUR_MS };
  expect(utilization(source, month)).toMatchObject({ working_ms: HOUR_MS, utilization_pct: 100 });
  expect(explain(source, "working_minutes", month)?.value).toEqual({ working_ms: HOUR_MS });
  expect(utilization(source, { start: T0 - 30 * DAY_MS, end: T0 - DAY_MS })).toMatchObject({
    working_ms: 0,
    utilization_pct: null,
  });
  const silent = { start: T0 + 2 * DAY_MS, end: T0 + 7 * DAY_MS + 2 * HOUR_MS };
  expect(utilization(source, silent)).toMatchObject({ working_ms: 2 * HOUR_MS, utilization_pct: 0 });
});

it("the first working hours from the service also apply to earlier time", () => {
  const told = {
    ...PLAIN,
    working_hours: [{ day: "monday", enabled: true, start: "00:00:00", stop: "02:00:00" }] as const,
  };
  const booth = lived(PLAIN, [MINUTE_MS, { mode: 3 }]);
  put(booth, { kind: "p", value: told });
  stay(booth, HOUR_MS, { mode: 3 });
  expect(utilization(sourceOf(booth, PLAIN), { start: T0, end: T0 + HOUR_MS }).working_ms).toBe(HOUR_MS);
});

it("recentStages returns the stages of a window, newest first", () => {
  const booth = lived(PLAIN, [10 * MINUTE_MS, { mode: 3 }], [30 * MINUTE_MS, { mode: 6 }]);
  stay(booth, 20 * MINUTE_MS, { mode: 1 });
  const { stages } = recentStages(sourceOf(booth, PLAIN), { start: T0, end: T0 + DAY_MS });
  expect(stages.map(({ mode }) => mode)).toEqual(["idle", "bake", "spray"]);
  expect(stages.at(-1)).toMatchObject({ mode: "spray", start: T0, end: T0 + 10 * MINUTE_MS });
});

it("an incident is listed once with its present state, and not in a window after its resolution", () => {
  const booth = lived(PLAIN, [5 * MINUTE_MS, { mode: 99 }]);
  const open = sourceOf(booth, PLAIN);
  const window = { start: T0, end: T0 + DAY_MS };
  expect(validationIncidents(open, window)).toMatchObject([{ check: "unmapped", resolved_at: null }]);
  stay(booth, HOUR_MS, { mode: 1 });
  const over = validationIncidents(sourceOf(booth, PLAIN), window);
  expect(over).toHaveLength(1);
  expect(over[0]?.resolved_at).toBeGreaterThan(T0 + 5 * MINUTE_MS);
  expect(validationIncidents(sourceOf(booth, PLAIN), { start: T0 + 30 * MINUTE_MS, end: T0 + DAY_MS })).toEqual([]);
});

it("latestValuesBefore returns each tag's last good value before an instant, and historyPage returns a page of readings", () => {
  const booth = script(PLAIN);
  for (let turn = 0; turn < 10; turn += 1) stay(booth, 2 * HOUR_MS, { mode: 1, other: turn });
  stay(booth, MINUTE_MS, { other: null });
  const source = sourceOf(booth, PLAIN);
  const before = (ms: number): unknown[] =>
    latestValuesBefore(source, T0 + ms, ["other", "mode", "never"]).map(({ tag, value }) => [tag, value]);
  expect(before(2 * HOUR_MS)).toEqual([
    ["other", 0],
    ["mode", 1],
  ]);
  expect(before(2 * HOUR_MS + 1)).toEqual([
    ["other", 1],
    ["mode", 1],
  ]);
  expect(before(0)).toEqual([]);
  const page = historyPage(source, { start: T0, end: T0 + DAY_MS }, { tags: ["other"], page: 2, limit: 4 });
  expect([page.total, page.values.map(({ value }) => value)]).toEqual([10, [4, 5, 6, 7]]);
});

it("report responses have intervals with a single sign, CSV cells that are no formulas, and coverage on request", () => {
  expect(intervalBody(-(DAY_MS + 1500))).toEqual({ months: 0, days: -1, secs: -1, microsecs: -500_000 });
  expect(intervalBody(999)).toEqual({ months: 0, days: 0, secs: 0, microsecs: 999_000 });
  const line = (value: string | number): string => csvLine({ at: T0, tag: "t", value, quality: "good" });
  expect(line("=HYPERLINK()")).toContain(",'=HYPERLINK(),");
  expect(line('a "b", c')).toContain(',"a ""b"", c",');
  expect(line(-5)).toContain(",-5,");
  const booth = lived(PARAMETERS, [HOUR_MS, { mode: 3 }]);
  const source = sourceOf(booth, PARAMETERS);
  expect(boxAnswer(source, "utilization_summary", { coverage: "true" })).toMatchObject({
    in_use: 60,
    coverage: { observed: 60, inferred: 0, missing: 0 },
  });
  expect(boxAnswer(source, "utilization_summary")).not.toHaveProperty("coverage");
  expect(() => boxAnswer(source, "utilization_timeline", { interval: "0" })).toThrow(/400/);
  expect(() => boxAnswer(source, "runtime", { start: "yesterday" })).toThrow(/400/);
});
