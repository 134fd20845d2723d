import { expect, test } from "vitest";
import { connectivityOf, type LinkStatus } from "../../src/domain/status.ts";
import type { BoothSummary } from "../../src/domain/summary.ts";
import { summaryOf } from "../../src/reports/summary.ts";
import { run, script, stay, T0 } from "../support/booth.ts";
import { PLAIN } from "../support/parameters.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

const PLC: LinkStatus = { kind: "up", since: T0 };

function summary(mode: number): BoothSummary {
  const booth = script(PLAIN);
  stay(booth, MINUTE_MS, { mode });
  return { ...summaryOf(run(booth, PLAIN).state, T0 + MINUTE_MS), last_good_at: T0 };
}

/** Younger than max(60 s, 3 x commit time), in neither off nor idle. */
test.each([
  [3, 10_000, 59_999, "Active"],
  [3, 10_000, 60_000, "Idle"],
  [3, 10_000, 60_001, "Idle"],
  [3, 20_001, 60_002, "Active"],
  [3, 20_001, 60_003, "Idle"],
  [3, 20_001, 60_004, "Idle"],
  [2, 10_000, 1000, "Active"],
  [20, 10_000, 1000, "Active"],
  [1, 10_000, 1000, "Idle"],
  [0, 10_000, 1000, "Idle"],
])("code %i, committed every %i ms, last read %i ms ago: %s", (...[mode, commit_ms, age, expected]) => {
  expect(connectivityOf({ summary: summary(mode), plc: PLC }, T0 + age, commit_ms)).toBe(expected);
});

test("a booth in a gap, or never read, is idle", () => {
  expect(connectivityOf({ summary: { ...summary(3), in_gap: true }, plc: PLC }, T0, 10_000)).toBe("Idle");
  expect(connectivityOf({ summary: { ...summary(3), last_good_at: null }, plc: PLC }, T0, 10_000)).toBe("Idle");
  expect(connectivityOf({ summary: null, plc: PLC }, T0, 10_000)).toBe("Idle");
});
