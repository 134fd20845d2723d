import { describe, expect, it } from "vitest";
import type { Parameters } from "../../src/domain/parameters.ts";
import type { FilterDayFact } from "../../src/domain/record.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../src/domain/time.ts";
import { enterFilter, fold, foldRecords, put, type Script, T0, valuesOf } from "../support/booth.ts";
import { live, lived, type Part } from "../support/lives.ts";
import { tag, withFilters } from "../support/parameters.ts";

type FilterDay = FilterDayFact["value"];

const DROP = tag("filter_pressure", "Pa", { filter: "exhaust_filter" });
const FITTED: Parameters = withFilters(
  { exhaust_filter: { limits: { minutes: 600, pressure_pa: 125 }, baseline_pa: 50 } },
  { drop: DROP },
);
const BARE: Parameters = withFilters({ exhaust_filter: { limits: { minutes: 600 } } });

/** A day with two hours of spray from 8 to 10 at these drops, else off. */
function day(first: number, second: number): Part[] {
  return [
    [8 * HOUR_MS, { mode: 0, drop: 0 }],
    [HOUR_MS, { mode: 3, drop: first }],
    [MINUTE_MS, { mode: 4 }],
    [59 * MINUTE_MS, { mode: 3, drop: second }],
    [14 * HOUR_MS, { mode: 0, drop: 0 }],
  ];
}
const OFF: Part = [10 * MINUTE_MS, { mode: 0 }];

function daysOf(booth: Script, parameters = FITTED): FilterDay[] {
  return valuesOf(fold(booth.entries, parameters, [50]).facts, "u");
}

const hoursOf = (at: number | null) => (at === null ? null : (at - T0) / HOUR_MS);

describe("the fact of a filter on a day", () => {
  it("holds the booth's use, the filter's use, and highest and median drop of the day's spray stages", () => {
    const days = daysOf(lived(FITTED, ...day(100, 140), ...day(180, 190), OFF));
    expect(days.map(({ day: date, use_ms, spray_ms, no_data_ms }) => [date, use_ms, spray_ms, no_data_ms])).toEqual([
      ["2025-03-03", 2 * HOUR_MS, 119 * MINUTE_MS, 0],
      ["2025-03-04", 2 * HOUR_MS, 119 * MINUTE_MS, 0],
    ]);
    expect(days.map(({ drop }) => drop)).toEqual([
      { highest_pa: 140, median_pa: 100, measured_ms: 117 * MINUTE_MS },
      { highest_pa: 190, median_pa: 180, measured_ms: 117 * MINUTE_MS },
    ]);
    // The filter was in at first contact, so its use is unknown. Two stages in a row over 175 Pa start overuse.
    expect(
      days.map(({ filter_use_ms, overuse_since, baseline_pa }) => [filter_use_ms, hoursOf(overuse_since), baseline_pa]),
    ).toEqual([
      [null, null, 50],
      [null, 34, 50],
    ]);
  });

  it("is missing for a day on which the booth was observed and not in use", () => {
    expect(daysOf(lived(FITTED, [2 * DAY_MS, { mode: 0 }], OFF))).toEqual([]);
  });

  it("tells a day without data from a day without use", () => {
    const days = daysOf(
      lived(FITTED, ...day(100, 100), { gap_ms: 2 * DAY_MS }, [HOUR_MS, { mode: 0 }], [DAY_MS, { mode: 0 }]),
    );
    expect(days.map(({ day: date, no_data_ms }) => [date, Math.round(no_data_ms / HOUR_MS)])).toEqual([
      ["2025-03-03", 0],
      ["2025-03-04", 24],
      ["2025-03-05", 24],
    ]);
  });

  it("has no drop without a sensor, and null if the sensor gave none", () => {
    const [bare] = daysOf(lived(BARE, ...day(100, 100), OFF), BARE);
    expect(bare && "drop" in bare).toBe(false);
    const [blind] = daysOf(
      lived(FITTED, [8 * HOUR_MS, { mode: 0, drop: null }], [HOUR_MS, { mode: 3 }], [16 * HOUR_MS, { mode: 0 }]),
    );
    expect(blind?.drop).toBeNull();
  });

  it("is written for the removed filter and the new one on the day of a change", () => {
    const booth = lived(FITTED, ...day(100, 140).slice(0, 3));
    enterFilter(booth);
    live(booth, [59 * MINUTE_MS, { mode: 3, drop: 60 }], [14 * HOUR_MS, { mode: 0 }], OFF);
    const days = daysOf(booth);
    expect(days.map((one) => [hoursOf(one.removed_at), one.drop?.highest_pa, one.filter_use_ms])).toEqual([
      [9 + 1 / 60, 100, null],
      [null, 60, 59 * MINUTE_MS],
    ]);
    // The booth's use is that of the whole day in both facts.
    expect(days.map(({ use_ms }) => use_ms)).toEqual([2 * HOUR_MS, 2 * HOUR_MS]);
  });

  it("is written again if an entry of the next day corrects the day, and again if the entry is undone", () => {
    const booth = lived(FITTED, ...day(100, 140), [8 * HOUR_MS, { mode: 0 }]);
    enterFilter(booth, booth.now, { ago_ms: 23 * HOUR_MS, id: "entry-1" });
    live(booth, [HOUR_MS, { mode: 3, drop: 60 }], [2 * HOUR_MS, { mode: 0 }]);
    const entered = daysOf(booth);
    expect(
      entered.map((one) => [one.day, hoursOf(one.installed_at), hoursOf(one.removed_at), one.filter_use_ms]),
    ).toEqual([
      ["2025-03-03", 0, null, null],
      ["2025-03-03", 0, 9, null],
      ["2025-03-03", 9, null, HOUR_MS],
    ]);
    const { seq } = fold(booth.entries, FITTED, [50]).state.entries?.[0] ?? { seq: 0 };
    put(booth, { kind: "x", value: { seq } });
    live(booth, [14 * HOUR_MS, { mode: 0 }], OFF);
    const undone = daysOf(booth).slice(entered.length);
    expect(undone.map((one) => [one.day, hoursOf(one.installed_at), one.removed_at, one.drop?.highest_pa])).toEqual([
      ["2025-03-03", 0, null, 140],
      ["2025-03-04", 0, null, 60],
    ]);
  });

  it("covers a local day of 23 or 25 hours when the clocks change", () => {
    const berlin = { ...FITTED, tz: "Europe/Berlin" };
    // 2025-03-29 23:00 UTC is midnight before the clocks go forward.
    const booth = lived(berlin, [27 * DAY_MS - HOUR_MS, { mode: 0 }], [DAY_MS, { mode: 3 }], OFF);
    const days = daysOf(booth, berlin);
    expect(days.map((one) => [one.day, (one.end - one.start) / HOUR_MS, one.use_ms / HOUR_MS])).toEqual([
      ["2025-03-30", 23, 23],
    ]);
  });

  it("adds up to the booth's time in use and without data, for any length of commits", () => {
    const booth = lived(FITTED, ...day(100, 140), { gap_ms: 3 * HOUR_MS }, ...day(120, 130), ...day(120, 130), OFF);
    const { facts } = fold(booth.entries, FITTED, [7, 31]);
    const days = valuesOf(facts, "u");
    const until = days.at(-1)?.end ?? 0;
    const sum = (of: (one: FilterDay) => number): number => days.reduce((total, one) => total + of(one), 0);
    const staged = (modes: readonly string[]): number =>
      valuesOf(facts, "m")
        .filter(({ mode }) => modes.includes(mode))
        .reduce((total, { start, end }) => total + Math.max(0, Math.min(end, until) - start), 0);
    expect(sum(({ use_ms }) => use_ms)).toBe(staged(FITTED.mode_sets.in_use));
    expect(sum(({ no_data_ms }) => no_data_ms)).toBe(staged(["no_data"]));
    expect(sum(({ spray_ms }) => spray_ms)).toBe(staged(["spray"]));
  });

  it("is made from a state that was saved before the log sheet existed", () => {
    const booth = lived(FITTED, ...day(100, 140), OFF);
    const { records } = fold(booth.entries, FITTED, [50]);
    const half = Math.floor(records.length / 3);
    const { sheet: _sheet, bakes: _bakes, ...old } = foldRecords(records.slice(0, half)).state;
    const { facts } = foldRecords(records.slice(half), old);
    expect(valuesOf(facts, "u").map(({ day: date }) => date)).toEqual(["2025-03-03"]);
  });
});
