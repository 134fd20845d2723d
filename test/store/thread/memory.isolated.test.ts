import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { expect, onTestFinished, test } from "vitest";

import { collectGarbage, growYoung, youngRoom } from "../../../src/store/thread/memory.ts";

test("collectGarbage frees only unreachable objects", async () => {
  const held = { of: "the agent" };
  const refs = { held: new WeakRef(held), dropped: new WeakRef(largeObject()) };
  // The target of a WeakRef lives until the end of the turn in which it was created or read.
  await new Promise((resolve) => setImmediate(resolve));
  collectGarbage();
  expect(refs.held.deref()).toBe(held);
  expect(refs.dropped.deref()).toBeUndefined();
});

function largeObject(): object {
  return { text: Array.from({ length: 100_000 }, (_, i) => i) };
}

const young = (): number =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space")?.space_size ?? 0;
const held: object[] = [];
/** Allocates objects that live for a while, like those of a poll. */
const live = (): void => {
  for (let at = 0; at < 20_000; at += 1) held[at] = { at };
};

test("growYoung enlarges the young generation to its limit", () => {
  setFlagsFromString("--semi-space-growth-factor=1");
  collectGarbage();
  for (let turn = 0; turn < 200 && !growYoung(); turn += 1) live();
  expect(growYoung()).toBe(true);
  const grown = young();
  for (let turn = 0; turn < 50; turn += 1) live();
  expect(young()).toBe(grown);
});

test("youngRoom enlarges the young generation during a bulk transfer and shrinks it afterwards", async () => {
  const grown = young();
  let now = 0;
  const sleeps: number[] = [];
  const clock = {
    mono: () => now,
    sleep: async (ms: number) => {
      sleeps.push(ms);
      now += ms;
      live();
      // More data arrives during the transfer.
      if (sleeps.length === 1) need(20_000);
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
  const ending = new AbortController();
  onTestFinished(() => ending.abort());
  const need = youngRoom(clock, ending.signal);
  need(10_000);
  while (now < 20_000) await new Promise((resolve) => setImmediate(resolve));
  expect(young()).toBe(grown);
  // With the flags of a small heap again, collections free the memory.
  for (let turn = 0; turn < 50 && young() >= grown; turn += 1) {
    live();
    collectGarbage();
  }
  expect(young()).toBeLessThan(grown);
});
