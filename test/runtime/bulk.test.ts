import { expect, it } from "vitest";
import { createPollGaps } from "../../src/acquisition/poll-gaps.ts";
import { readInGaps } from "../../src/runtime/compose.ts";
import type { NextChunks } from "../../src/store/port.ts";
import { virtualClock } from "../../simulators/virtual/clock.ts";

it("readInGaps delays backlog reads until no poll is due for 6 ms, and delays no other store call", async () => {
  const clock = virtualClock({ wall: 0 });
  const gaps = createPollGaps(clock);
  const made: string[] = [];
  const noted = (name: string) => () => {
    made.push(`${name} at ${clock.mono()}`);
    return Promise.resolve<NextChunks>([{ chunk: null, to: 1 }]);
  };
  const store = { chunks: noted("chunks"), read: noted("read") };
  const gapped = readInGaps(store, gaps, () => void made.push(`room at ${clock.mono()}`));
  gaps.due("a", clock.mono() + 5);
  const asked = gapped.chunks();
  await gapped.read();
  await clock.run(100);
  expect(await asked).toEqual([{ chunk: null, to: 1 }]);
  // Until that poll has begun.
  expect(made).toEqual(["room at 0", "read at 0", "chunks at 7"]);
  gaps.due("a", clock.mono() + 7);
  await gapped.chunks();
  expect(made.at(-1)).toBe("chunks at 100");
});
