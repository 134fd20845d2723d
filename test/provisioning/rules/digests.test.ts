import { expect, it } from "vitest";
import { hourFigures, hourRuns } from "../../../src/provisioning/rules/reconciliation.ts";
import type { Placed } from "../../../src/domain/record.ts";
import { HOUR_MS } from "../../../src/domain/time.ts";

const BASE = { boot: "b", mono: 0, at: 0, tag: "", quality: "good" } as const;

function reading(seq: number, time: number): Placed {
  return { ...BASE, kind: "r", tag: "n", value: seq, seq, time };
}

function hourRecord(seq: number, hour: number, cycles: number): Placed {
  const value = { hour, ms_by_mode: { idle: HOUR_MS }, cycles, gas_therm: 1, energy_kwh: 2 };
  return { ...BASE, kind: "d", value, seq, time: hour + HOUR_MS };
}

function runsOf(records: readonly Placed[], before: number | null = null): readonly (readonly number[])[] {
  return hourRuns(records, before).map(({ hour, records: own }) => [hour / HOUR_MS, ...own.map(({ seq }) => seq)]);
}

it("hourRuns groups consecutive records of the same hour into one run", () => {
  const records = [reading(1, HOUR_MS), reading(2, 2 * HOUR_MS - 1), reading(3, 2 * HOUR_MS)];
  expect(runsOf(records)).toEqual([
    [1, 1, 2],
    [2, 3],
  ]);
});

it("hourRuns counts a record with an earlier time toward the hour of the previous record", () => {
  expect(runsOf([reading(1, 2 * HOUR_MS), reading(2, HOUR_MS)])).toEqual([[2, 1, 2]]);
  expect(runsOf([reading(1, HOUR_MS)], 5 * HOUR_MS)).toEqual([[5, 1]]);
});

it("hourRuns starts another run after a gap in the sequence numbers", () => {
  expect(runsOf([reading(1, HOUR_MS), reading(3, HOUR_MS), reading(4, HOUR_MS)])).toEqual([
    [1, 1],
    [1, 3, 4],
  ]);
});

it("hourFigures takes an hour's figures from the last fact for that hour", () => {
  const figures = hourFigures([
    hourRecord(1, 0, 1),
    reading(2, HOUR_MS),
    hourRecord(3, HOUR_MS, 5),
    hourRecord(4, 0, 2),
  ]);
  expect([...figures].map(([hour, { cycles }]) => [hour / HOUR_MS, cycles])).toEqual([
    [0, 2],
    [1, 5],
  ]);
  expect(figures.get(HOUR_MS)).toEqual({ ms_by_mode: { idle: HOUR_MS }, cycles: 5, gas_therm: 1, energy_kwh: 2 });
});
