import { expect, it } from "vitest";
import { OPERATIONS } from "../../src/api/operations.ts";
import { SHEETS } from "../../src/api/report-sheets.ts";
import { CHARTS } from "../../src/api/report-charts.ts";
import type { Source } from "../../src/reports/source.ts";
import { answerReport, boxAnswer, localBooth, requestAt } from "../support/figures.ts";
import { run, script, stay, T0 } from "../support/booth.ts";
import { PARAMETERS, tag, withFilters } from "../support/parameters.ts";
import { readerOf } from "../support/reader.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

const RULES = withFilters({ pre_filter: { limits: { minutes: 600 } } }, { air: tag("air_temperature", "C") });

/** Two hours: spray, bake, cool down. */
function source(): Source {
  const booth = script(RULES);
  stay(booth, 40 * MINUTE_MS, { mode: 3, cycles: 5, air: 20 });
  stay(booth, 30 * MINUTE_MS, { mode: 6, air: 61 });
  stay(booth, 10 * MINUTE_MS, { mode: 8, cycles: 6, air: 30 });
  stay(booth, 40 * MINUTE_MS, { mode: 1, air: 21 });
  return { reader: readerOf(run(booth, RULES)), stream: "s", now_ms: T0 + booth.now };
}

const window = { start: new Date(T0).toISOString(), end: new Date(T0 + 120 * MINUTE_MS).toISOString() };

it("the chart operations of the local API return data that agrees with the report figures", () => {
  const box = source();
  const stats = boxAnswer(box, "utilization_stats", window);
  const { data } = boxAnswer(box, "use_periods", { ...window, unit: "hour" }) as { data: Record<string, never>[] };
  const sum = (name: string): number => data.reduce((all, period) => all + Number(period[name]), 0);
  expect(data).toHaveLength(2);
  expect(sum("utilization_minutes")).toBe(stats["utilization_minutes"]);
  expect(sum("cycle_count")).toBe(stats["cycle_count"]);
  expect(data[0]).toMatchObject({ start: T0, end: T0 + 60 * MINUTE_MS, gas_usage: null, utilization_pct: null });
  expect(data[0]?.["modes"]).toEqual([
    { mode: "Spray Mode", duration: 40 },
    { mode: "Bake Mode", duration: 20 },
  ]);
  expect(boxAnswer(box, "cycles", window)).toMatchObject({ total: 1, data: [{ counted: true, start: T0 }] });
  expect(boxAnswer(box, "trend", { ...window, tags: "air", interval: "60" })).toEqual({
    start: T0,
    step_ms: 60 * MINUTE_MS,
    end: T0 + 120 * MINUTE_MS,
    tags: [{ tag: "air", unit: "C", min: [20, 21], max: [61, 61] }],
  });
  expect(boxAnswer(box, "filter_use", window)).toMatchObject({
    data: [{ filter: "pre_filter", limit_minutes: 600, forecast: null, pressure: null }],
  });
});

it.each([
  ["trend", {}, "tags is missing"],
  ["trend", { tags: "a,b,c,d,e,f,g,h,i,j,k,l,m" }, "tags names over 12 tags"],
  ["trend", { tags: "air", interval: "0" }, "interval is not a number of minutes"],
  ["trend", { tags: "air", interval: "1", start: new Date(T0 - 700 * MINUTE_MS).toISOString() }, "at most 600"],
  ["use_periods", { unit: "hour", start: new Date(T0 - 6_000 * MINUTE_MS).toISOString() }, "at most 100"],
  ["use_periods", { unit: "minute" }, "unit is none of hour, day, week, month"],
  ["filter_use", { start: "yesterday" }, "start is not a timestamp"],
])("the report %s with %j is rejected", (operation, query, sentence) => {
  const box = source();
  const path = `/api/booths/b-1/${operation}`;
  const request = requestAt({ path, query, booths: [localBooth(box)], now_ms: box.now_ms });
  const { status, body } = answerReport(request, box.reader);
  expect([status, body]).toEqual([400, expect.stringContaining(sentence)]);
});

it("the report trend returns only null values for an unknown tag", () => {
  const answer = boxAnswer(source(), "trend", { ...window, tags: "nothing", interval: "60" });
  expect(answer["tags"]).toEqual([{ tag: "nothing", unit: "", min: [null, null], max: [null, null] }]);
  expect(PARAMETERS.tags["nothing"]).toBeUndefined();
});

it("the operations marked as shared are exactly the charts and the records", () => {
  const shared = OPERATIONS.filter((operation) => operation.shared === true);
  expect(shared.map(({ path }) => path).sort()).toEqual(
    [...Object.keys(CHARTS), ...Object.keys(SHEETS)].map((name) => `/api/booths/{id}/${name}`).sort(),
  );
});
