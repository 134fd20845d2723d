import { expect, it } from "vitest";
import { afterPoll, linkBegins, nextDue, scheduleFrom } from "../../../src/acquisition/rules/link.ts";

const groups = { slow: { poll_interval_ms: 10_000 }, fast: { poll_interval_ms: 1_000 } };

it("the group with the shorter interval is polled first if two groups are due", () => {
  expect(nextDue(scheduleFrom(groups, 500), groups)).toEqual({ group: "fast", due: 500 });
});

it.each([
  ["in time", 500, 1_500],
  ["a little late", 1_200, 1_500],
  ["late by less than an interval", 1_900, 1_500],
  ["late by more than an interval", 2_100, 1_500],
  ["late by exactly two intervals", 2_500, 2_500],
  ["after an hour's sleep", 3_600_700, 3_600_500],
])("a group polled %s, at %i ms, keeps its rhythm and is due next at %i ms", (_name, mono, due) => {
  const schedule = afterPoll(scheduleFrom(groups, 500), groups, { group: "fast", mono });
  expect(schedule).toEqual({ slow: 500, fast: due });
});

it.each([
  { name: "one link starts at once", all: [groups], begins: [0] },
  { name: "four links start within a second", all: [groups], begins: [0, 250, 500, 750] },
  {
    name: "four links start within 200 ms",
    all: [groups, { fast: { poll_interval_ms: 200 } }],
    begins: [0, 50, 100, 150],
  },
])("the start delays of links are spread over the shortest poll interval: $name", ({ all, begins }) => {
  expect(linkBegins(begins.length, all)).toEqual(begins);
});
