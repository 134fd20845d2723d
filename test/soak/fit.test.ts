import { expect, it } from "vitest";
import { seededRandom } from "../support/seeded-random.ts";
import { slopePerHour, trendOf, troubles, type Look } from "./fit.ts";

const CALM: Look = { at_s: 0, live_mb: 20, private_mb: 60, resident_mb: 120, files: 40, wal_mb: 0.5, backlog: 0 };

/** Twelve hours with a measurement a minute. */
function looks(of: (hour: number, index: number) => Partial<Look>): Look[] {
  return Array.from({ length: 720 }, (_, index) => ({ ...CALM, at_s: index * 60, ...of(index / 60, index) }));
}

it("slopePerHour returns the slope of a series despite noise and outliers", () => {
  const random = seededRandom(1);
  const points = Array.from({ length: 200 }, (_, i): [number, number] => [
    i * 60,
    50 + (3 * i) / 60 + random.next() + (i % 5 === 0 ? 40 : 0),
  ]);
  expect(slopePerHour(points)).toBeGreaterThan(2.7);
  expect(slopePerHour(points)).toBeLessThan(3.3);
});

it.each([
  ["reports nothing for a heap that goes up and down", looks((_, index) => ({ private_mb: 60 + (index % 10) })), []],
  [
    "reports nothing for memory that settles in the first hours",
    looks((hour) => ({ private_mb: 60 + 20 * Math.min(1, hour / 3) })),
    [],
  ],
  [
    "reports live memory that grows by 1 MB an hour",
    looks((hour) => ({ live_mb: 20 + hour })),
    ["live memory grew by 8.0 MB, 4.0 allowed"],
  ],
  [
    "reports private memory that grows by 5 MB an hour",
    looks((hour) => ({ private_mb: 60 + 5 * hour })),
    ["private memory grew by 39.9 MB, 25.0 allowed"],
  ],
  [
    "reports a file that is left open each hour",
    looks((hour) => ({ files: 40 + Math.floor(hour) })),
    ["open files went from 46 to 50"],
  ],
  [
    "reports a write-ahead log that is not checkpointed",
    looks((hour) => ({ wal_mb: hour })),
    ["the write-ahead log grew to 12.0 MB"],
  ],
  ["reports that a run has only three measurements", looks(() => ({})).slice(0, 3), ["only 3 looks at the agent"]],
])("the trend of a soak test %s", (_, run, expected) => {
  expect(troubles(trendOf(run))).toEqual(expected);
});
