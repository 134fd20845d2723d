import { expect, it } from "vitest";
import { isSettled } from "../../src/derivation/clock.ts";
import { step } from "../../src/derivation/fold.ts";
import { emptyState, type DeriveState } from "../../src/derivation/state.ts";
import type { ClockRecord } from "../../src/domain/record.ts";
import { T0 } from "../support/records.ts";
import { HOUR_MS, DAY_MS } from "../../src/domain/time.ts";

const YEAR = 365 * DAY_MS;

/** A clock record with a witness: at `mono` the time is `wall`. */
function vouched(mono: number, wall: number, boot = "a"): ClockRecord {
  return { kind: "t", boot, mono, at: wall, tag: "", value: { wall, state: "synced" }, quality: "good" };
}

function after(...records: readonly ClockRecord[]): DeriveState {
  return records.reduce<DeriveState>(
    (state, record, at) => step(state, { ...record, seq: at + 1 }).state,
    emptyState(),
  );
}

it.each([
  ["the very first time", true, [vouched(0, T0 + YEAR)]],
  ["steadily advancing time", true, [vouched(0, T0), vouched(2 * DAY_MS, T0 + 2 * DAY_MS)]],
  ["a leap of a day", true, [vouched(0, T0), vouched(HOUR_MS, T0 + HOUR_MS + DAY_MS)]],
  ["a leap of a day and a millisecond", false, [vouched(0, T0), vouched(HOUR_MS, T0 + HOUR_MS + DAY_MS + 1)]],
  ["a leap of a year", false, [vouched(0, T0), vouched(HOUR_MS, T0 + YEAR)]],
  ["a leap back by a year", true, [vouched(0, T0 + YEAR), vouched(HOUR_MS, T0)]],
  ["a new boot a day later", true, [vouched(0, T0), vouched(5, T0 + DAY_MS, "b")]],
  ["a new boot a day and a millisecond later", false, [vouched(0, T0), vouched(5, T0 + DAY_MS + 1, "b")]],
])("after %s, isSettled (the age of records can be trusted) returns %s", (_, settled, records) => {
  expect(isSettled(after(...records))).toBe(settled);
});

it.each([
  [DAY_MS, false],
  [DAY_MS + 1, true],
])("%i ms of elapsed time after a leap of the clock, isSettled returns %s", (elapsed, settled) => {
  const leapt = [vouched(0, T0), vouched(HOUR_MS, T0 + YEAR)];
  expect(isSettled(after(...leapt, vouched(HOUR_MS + elapsed, T0 + YEAR + elapsed)))).toBe(settled);
});

it("after a leap of the clock and a reboot, isSettled returns true once the new boot has lasted for a day", () => {
  const leapt = [vouched(0, T0), vouched(HOUR_MS, T0 + YEAR), vouched(7, T0 + YEAR + HOUR_MS, "b")];
  const later = (elapsed: number): DeriveState =>
    after(...leapt, vouched(7 + elapsed, T0 + YEAR + HOUR_MS + elapsed, "b"));
  expect(isSettled(later(DAY_MS))).toBe(false);
  expect(isSettled(later(DAY_MS + 1))).toBe(true);
});
