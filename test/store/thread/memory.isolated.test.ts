import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { expect, test } from "vitest";

import { collectGarbage, growYoung } from "../../../src/store/thread/memory.ts";

test("what nobody holds any more is gone, and what is held stays", async () => {
  const held = { of: "the agent" };
  const refs = { held: new WeakRef(held), dropped: new WeakRef(largeObject()) };
  // What a WeakRef was made for or gave away lives until the end of the turn.
  await new Promise((resolve) => setImmediate(resolve));
  collectGarbage();
  expect(refs.held.deref()).toBe(held);
  expect(refs.dropped.deref()).toBeUndefined();
});

function largeObject(): object {
  return { text: Array.from({ length: 100_000 }, (_, i) => i) };
}

test("the young generation grows to its room, and no further", () => {
  const young = (): number =>
    getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space")?.space_size ?? 0;
  setFlagsFromString("--semi-space-growth-factor=1");
  const held: object[] = [];
  // Everything lives a while, as what a poll leaves does.
  const live = (): void => {
    for (let at = 0; at < 20_000; at += 1) held[at] = { at };
  };
  collectGarbage();
  for (let turn = 0; turn < 200 && !growYoung(); turn += 1) live();
  expect(growYoung()).toBe(true);
  const grown = young();
  for (let turn = 0; turn < 50; turn += 1) live();
  expect(young()).toBe(grown);
});
