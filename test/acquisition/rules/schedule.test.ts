import { expect, it } from "vitest";
import { afterPoll, linkBegins, nextDue, scheduleFrom } from "../../../src/acquisition/rules/link.ts";

const groups = { slow: { poll_interval_ms: 10_000 }, fast: { poll_interval_ms: 1_000 } };

it("the quicker of two due groups is polled first", () => {
  expect(nextDue(scheduleFrom(groups, 500), groups)).toEqual({ group: "fast", due: 500 });
});

it.each([
  ["in time", 500, 1_500],
  ["a little late", 1_200, 1_500],
  ["late by less than a turn", 1_900, 1_500],
  ["late by a turn and a half", 2_100, 1_500],
  ["late by exactly two turns", 2_500, 2_500],
  ["after an hour's sleep", 3_600_700, 3_600_500],
])("a group polled %s keeps its rhythm and catches up on its last poll only", (_name, mono, due) => {
  const schedule = afterPoll(scheduleFrom(groups, 500), groups, { group: "fast", mono });
  expect(schedule).toEqual({ slow: 500, fast: due });
});

it.each([
  { name: "one link at once", all: [groups], begins: [0] },
  { name: "links within a second", all: [groups], begins: [0, 250, 500, 750] },
  {
    name: "links within the quickest interval of any booth",
    all: [groups, { fast: { poll_interval_ms: 200 } }],
    begins: [0, 50, 100, 150],
  },
])("the start delays spread $name", ({ all, begins }) => {
  expect(linkBegins(begins.length, all)).toEqual(begins);
});
