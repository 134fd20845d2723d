import { expect, test } from "vitest";
import { held, type Hold, isWitnessed, knownTime, placesOf, verdictOf } from "../../src/derivation/clock.ts";
import type { ClockRecord, LogRecord, Stored } from "../../src/domain/record.ts";
import { fold, T0 } from "../support/booth.ts";
import { lived } from "../support/lives.ts";
import { PLAIN } from "../support/parameters.ts";

const WALL = 1_740_960_000_000;

function clock(boot: string, mono: number, value: Partial<ClockRecord["value"]>): Stored<ClockRecord> {
  const base = { kind: "t", seq: 1, boot, mono, at: 77, tag: "", quality: "good" } as const;
  return { ...base, value: { wall: WALL, state: "synced", ...value } };
}

function reading(boot: string, mono: number): Stored<LogRecord> {
  return { kind: "r", seq: 7, boot, mono, at: 0, tag: "mode", quality: "good", value: 3 };
}

function coverage(boot: string, mono: number, to: number): Stored<LogRecord> {
  const value = { group: "fast", from: mono, to, polls: 2, max_interval_ms: 1000 };
  return { kind: "h", seq: 7, boot, mono, at: 0, tag: "fast", quality: "good", value };
}

test.each<[string, boolean, LogRecord]>([
  ["a sync", true, clock("a", 0, { state: "synced" })],
  ["a clock step with a witness", true, clock("a", 0, { state: "stepped", witness: "service" })],
  ["a clock step without a witness", false, clock("a", 0, { state: "stepped" })],
  ["an unsynced clock", false, clock("a", 0, { state: "unsynced" })],
  ["a reading", false, reading("a", 0)],
])("isWitnessed (the record proves the true time) returns, for %s, the result %s", (_name, is, record) => {
  expect(isWitnessed(record)).toBe(is);
});

const NOBODY: Hold = [];
const WAITING: Hold = [{ boot: "b", first_seq: 3, first_mono: 100, last_mono: 900 }];

test.each<[string, "fold" | "hold" | "place", Hold, LogRecord]>([
  ["a reading of the known boot", "fold", NOBODY, reading("a", 5)],
  ["a reading of a new boot", "hold", NOBODY, reading("b", 5)],
  ["a sync of a new boot", "fold", NOBODY, clock("b", 5, {})],
  ["an unsynced clock of a new boot", "hold", NOBODY, clock("b", 5, { state: "unsynced" })],
  ["a reading of a boot that waits for its time", "hold", WAITING, reading("b", 950)],
  ["a reading of the known boot while another boot waits for its time", "hold", WAITING, reading("a", 950)],
  ["a sync while a boot waits for its time", "place", WAITING, clock("b", 950, {})],
  [
    "a clock step without a witness while a boot waits for its time",
    "hold",
    WAITING,
    clock("b", 950, { state: "stepped" }),
  ],
])("verdictOf (what to do with a record of a boot) returns, for %s, the result %s", (...[, verdict, hold, record]) => {
  expect(verdictOf({ boot: "a", now: WALL }, hold, record)).toBe(verdict);
});

test("a boot that waits for its time extends to the end of its records and coverage, and never shrinks", () => {
  let hold: Hold = [];
  for (const record of [reading("b", 100), coverage("b", 150, 400), reading("b", 300), reading("c", 20)])
    hold = held(hold, record);
  expect(hold).toEqual([
    { boot: "b", first_seq: 7, first_mono: 100, last_mono: 400 },
    { boot: "c", first_seq: 7, first_mono: 20, last_mono: 20 },
  ]);
});

const TWO: Hold = [
  { boot: "b", first_seq: 3, first_mono: 100, last_mono: 900 },
  { boot: "c", first_seq: 5, first_mono: 50, last_mono: 250 },
];

test("a sync places its own boot by the wall clock, and earlier waiting boots right after the last known instant", () => {
  expect(placesOf({ boot: "a", now: WALL - 10_000 }, TWO, clock("c", 300, {}))).toEqual([
    { boot: "b", offset: WALL - 10_000 - 100, uncertain: true },
    { boot: "c", offset: WALL - 300, uncertain: false },
  ]);
});

test("waiting boots end at the start of the synced boot if no earlier instant is known", () => {
  // b is 800 ms long, and ends where c begins.
  expect(placesOf({ boot: "", now: 0 }, TWO, clock("c", 300, {}))).toEqual([
    { boot: "b", offset: WALL - 300 + 50 - 800 - 100, uncertain: true },
    { boot: "c", offset: WALL - 300, uncertain: false },
  ]);
});

test("a sync in a boot without records sets the time of all earlier waiting boots in sequence", () => {
  expect(placesOf({ boot: "a", now: 5000 }, TWO, clock("d", 40, {}))).toEqual([
    { boot: "b", offset: 5000 - 100, uncertain: true },
    { boot: "c", offset: 5000 + 800 - 50, uncertain: true },
  ]);
  expect(placesOf({ boot: "", now: 0 }, TWO, clock("d", 40, {})).map(({ offset }) => offset)).toEqual([
    WALL - 1000 - 100,
    WALL - 1000 + 800 - 50,
  ]);
});

test("knownTime returns the time of the last record, or a later time that coverage of the same boot proves", () => {
  const booth = lived(PLAIN, [60_000, { mode: 3 }]);
  const { state } = fold(booth.entries, PLAIN);
  // The last poll came 1 ms before the end of the minute, in a coverage record at its start.
  expect(state.clock.now).toBe(T0);
  expect(knownTime(state)).toEqual({ boot: state.clock.boot, now: T0 + 59_999 });
  const groups = Object.fromEntries(Object.entries(state.groups).map(([name, one]) => [name, { ...one, boot: "x" }]));
  expect(knownTime({ ...state, groups })).toEqual({ boot: state.clock.boot, now: T0 });
});
