import { expect, it } from "vitest";
import { wrongSpans, type Poll, type Rules } from "./time-line.ts";
import { SECOND_MS, MINUTE_MS } from "../../../src/domain/time.ts";

const END = 60 * MINUTE_MS;
const RULES: Rules = { start: 0, end: END, bridge_ms: 30 * SECOND_MS, slack_ms: 14 * SECOND_MS, unsure: [] };

/** A poll every 10 s: spray for half an hour, then bake. */
const polls: readonly Poll[] = Array.from({ length: 361 }, (_, i) => ({
  at: i * 10 * SECOND_MS,
  mode: i < 180 ? "spray" : "bake",
}));

const derived = (...borders: readonly (readonly [string, number])[]) =>
  borders.map(([mode, start], i) => ({ mode, start, end: borders[i + 1]?.[1] ?? END }));

it("a time line passes the check if each mode change is at the poll that showed it, within the clock's error", () => {
  expect(wrongSpans(polls, derived(["spray", 0], ["bake", END / 2]), RULES)).toEqual([]);
  expect(wrongSpans(polls, derived(["spray", 0], ["bake", END / 2 + 14 * SECOND_MS]), RULES)).toEqual([]);
  expect(wrongSpans(polls, derived(["spray", 0], ["bake", END / 2 - 14 * SECOND_MS]), RULES)).toEqual([]);
});

it.each<[string, ReturnType<typeof derived>]>([
  [
    "a mode that continues over many polls that showed another",
    derived(["spray", 0], ["bake", END / 2 + 5 * MINUTE_MS]),
  ],
  ["a transition a little too late", derived(["spray", 0], ["bake", END / 2 + 15 * SECOND_MS])],
  ["a transition a little too early", derived(["spray", 0], ["bake", END / 2 - 15 * SECOND_MS])],
  ["no data although polls were answered", derived(["spray", 0], ["no_data", END / 2], ["bake", END / 2 + MINUTE_MS])],
])("the check of a time line reports %s", (_, spans) => {
  expect(wrongSpans(polls, spans, RULES)).toHaveLength(1);
});

it("the check of a time line skips a span in which the time is unsure", () => {
  const spans = derived(["spray", 0], ["no_data", END / 2], ["bake", END / 2 + MINUTE_MS]);
  expect(wrongSpans(polls, spans, { ...RULES, unsure: [{ start: END / 2, end: END / 2 + MINUTE_MS }] })).toEqual([]);
});
