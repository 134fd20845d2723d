import { expect, test } from "vitest";
import { recordsOf } from "../../../src/acquisition/rules/records.ts";
import type { TakenPoll } from "../../../src/domain/taken.ts";

function poll(take: number, mono: number, extra: Partial<TakenPoll> = {}): TakenPoll {
  return {
    kind: "poll",
    take,
    stream: "s",
    boot: "b",
    mono,
    at: mono,
    group: "fast",
    answered: true,
    changes: [],
    ...extra,
  };
}

const bridge = (): number => 15_000;

function coverageOf(entries: readonly TakenPoll[]): unknown[] {
  return recordsOf(entries, bridge).flatMap((record) =>
    record.kind === "h" ? [[record.value.from, record.value.to, record.value.polls, record.value.max_interval_ms]] : [],
  );
}

test.each([
  [14_999, [[0, 14_999, 2, 14_999]]],
  [15_000, [[0, 15_000, 2, 15_000]]],
  [
    15_001,
    [
      [0, 0, 1, 0],
      [15_001, 15_001, 1, 0],
    ],
  ],
])("polls %i ms apart give the coverage %j", (spacing, expected) => {
  expect(coverageOf([poll(1, 0), poll(2, spacing)])).toEqual(expected);
});

test("a coverage record is written at its start time, before its readings", () => {
  const entries = [
    poll(1, 100, { changes: [["a", 1, "good"]] }),
    poll(2, 150, { group: "slow", changes: [["b", 1, "good"]] }),
    poll(3, 200, { changes: [["a", 2, "good"]] }),
  ];
  expect(recordsOf(entries, bridge).map(({ kind, mono, tag }) => `${kind} ${mono} ${tag}`)).toEqual([
    "h 100 fast",
    "r 100 a",
    "h 150 slow",
    "r 150 b",
    "r 200 a",
  ]);
});

test("a minute of unanswered polls gives one coverage record with no polls counted", () => {
  const silent = [0, 30_000, 60_000, 119_999].map((mono, index) => poll(index + 1, mono, { answered: false }));
  expect(coverageOf(silent)).toEqual([
    [0, 0, 0, 0],
    [60_000, 60_000, 0, 0],
  ]);
});

test("a new boot starts a new coverage record after the old one", () => {
  const records = recordsOf([poll(1, 5000), poll(2, 10, { boot: "c" }), poll(3, 20, { boot: "c" })], bridge);
  expect(records.map(({ boot, mono }) => [boot, mono])).toEqual([
    ["b", 5000],
    ["c", 10],
  ]);
});

test("a repeated entry (same take number) is counted once in the coverage", () => {
  expect(coverageOf([poll(1, 0), poll(1, 0), poll(2, 10)])).toEqual([[0, 10, 2, 10]]);
});
