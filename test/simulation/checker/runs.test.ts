import { expect, it } from "vitest";
import type { Mode } from "../../../src/domain/booth.ts";
import { decidedSince } from "./runs.ts";
import { MINUTE_MS } from "../../../src/domain/time.ts";

/** Returns `decidedSince` of the last of these stages. All times in minutes. */
function told(...parts: readonly (readonly [Mode, number])[]): number {
  let now = 0;
  const stages = parts.map(([mode, minutes]) => {
    const start = now;
    now += minutes * MINUTE_MS;
    return { mode, start, end: now };
  });
  const at = stages.at(-1)?.start ?? 0;
  return decidedSince({ stages }, at) / MINUTE_MS;
}

it.each<[string, readonly (readonly [Mode, number])[], number]>([
  [
    "after the run before it has ended",
    [
      ["bake", 10],
      ["off", 1],
      ["spray", 9],
    ],
    11,
  ],
  [
    "after a pause that ended a run",
    [
      ["spray", 9],
      ["idle", 1],
      ["prep", 1],
      ["spray", 9],
    ],
    11,
  ],
  [
    "after one that didn't",
    [
      ["off", 5],
      ["spray", 9],
      ["idle", 1],
      ["spray", 9],
    ],
    5,
  ],
  // If a cable fault hides 7 min of a bake of 10 min, the visible bake isn't a full one, and the cycle before it
  // continues.
  [
    "after a full bake in the same run",
    [
      ["spray", 9],
      ["bake", 10],
      ["spray", 9],
    ],
    9,
  ],
  [
    "after it was left for something else",
    [
      ["spray", 9],
      ["bake", 5],
      ["cool_down", 10],
      ["spray", 9],
    ],
    9,
  ],
  [
    "after a shorter one",
    [
      ["off", 5],
      ["spray", 9],
      ["bake", 4.9],
      ["spray", 9],
    ],
    5,
  ],
])("whether spraying opens a cycle is known %s", (_, parts, since) => {
  expect(told(...parts)).toBe(since);
});
