import { expect, it } from "vitest";
import { fold, T0 } from "../support/booth.ts";
import { lived } from "../support/lives.ts";
import { boxAnswer } from "../support/figures.ts";
import { PLAIN } from "../support/parameters.ts";
import { readerOf } from "../support/reader.ts";
import type { Source } from "../../src/reports/source.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

/** An hour of spray, half an hour without polls, half an hour of idle. */
function source(): Source {
  const booth = lived(PLAIN, [60 * MINUTE_MS, { mode: 3 }], { gap_ms: 30 * MINUTE_MS }, [30 * MINUTE_MS, { mode: 1 }]);
  const folded = fold(booth.entries, PLAIN, [20]);
  return { reader: readerOf(folded), stream: "s", now_ms: T0 + 120 * MINUTE_MS - 1_000 };
}

it.each([
  "duration_by_mode",
  "frequency_by_mode",
  "runtime",
  "runtime_series",
  "utilization_stats",
  "utilization_summary",
  "utilization_timeline",
  "recent_stages",
  "filter_maintenances",
  "filter_maintenance_history",
  "revision_history",
  "history",
  "/api/validation_incidents",
])("%s with coverage=true returns the observed, inferred and missing time of its window", (figure) => {
  const window = { start: new Date(T0).toISOString(), end: new Date(T0 + 120 * MINUTE_MS).toISOString() };
  const query = { ...(figure === "revision_history" ? {} : window), tags: "mode", coverage: "true" };
  const { coverage } = boxAnswer(source(), figure, query) as { coverage: Record<string, number> };
  const { observed = NaN, inferred = NaN, missing = NaN } = coverage;
  // The silence begins 1 ms after the last poll, and the window is clipped to the second before now.
  expect(missing).toBeGreaterThanOrEqual(30);
  expect(missing).toBeLessThan(30.1);
  expect(observed + inferred + missing).toBeCloseTo((120 * MINUTE_MS - 1_000) / MINUTE_MS, 3);
  expect(boxAnswer(source(), figure, { ...query, coverage: "no" })).not.toHaveProperty("coverage");
});

it.each([
  ["latest_values_for", {}, 0],
  ["latest_values_at", { before: new Date(T0 + 75 * MINUTE_MS).toISOString() }, 15],
])("%s returns coverage for the time from its oldest value to its instant", (figure, more, missing) => {
  const { coverage } = boxAnswer(source(), figure, { tags: "mode", coverage: "true", ...more }) as {
    coverage: Record<string, number>;
  };
  expect(coverage["missing"]).toBeCloseTo(missing, 2);
});
