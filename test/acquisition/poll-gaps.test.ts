import { expect, it } from "vitest";
import { createPollGaps } from "../../src/acquisition/poll-gaps.ts";
import { virtualClock, type VirtualClock } from "../../simulators/virtual/clock.ts";

/** Returns how long a request made now waits. */
async function waited(clock: VirtualClock, gap: Promise<void>): Promise<number> {
  const from = clock.mono();
  const over = { at: -1 };
  void gap.then(() => (over.at = clock.mono()));
  await clock.run(100);
  return over.at - from;
}

it("createPollGaps doesn't delay a request if no poll is due soon or if a poll is already running", async () => {
  const clock = virtualClock({ wall: 0, mono: 1_000 });
  const gaps = createPollGaps(clock);
  expect(await waited(clock, gaps.next(8))).toBe(0);
  gaps.due("a", clock.mono() + 500);
  gaps.due("b", clock.mono() - 40);
  expect(await waited(clock, gaps.next(8))).toBe(0);
});

it("createPollGaps delays a request until an imminent poll has started", async () => {
  const clock = virtualClock({ wall: 0 });
  const gaps = createPollGaps(clock);
  gaps.due("a", clock.mono() + 5);
  expect(await waited(clock, gaps.next(8))).toBe(7);
  // The next poll is announced when the present one is over.
  gaps.due("a", clock.mono() + 1_000);
  expect(await waited(clock, gaps.next(8))).toBe(0);
});

it("createPollGaps delays a request until the last of several polls in quick succession has started", async () => {
  const clock = virtualClock({ wall: 0 });
  const gaps = createPollGaps(clock);
  for (const [link, in_ms] of Object.entries({ a: 3, b: 8, c: 16, d: 60 })) gaps.due(link, clock.mono() + in_ms);
  expect(await waited(clock, gaps.next(8))).toBe(18);
});

it("createPollGaps delays a request by at most 50 ms if the polls leave no gap", async () => {
  const clock = virtualClock({ wall: 0 });
  const gaps = createPollGaps(clock);
  for (let link = 0; link < 100; link += 1) gaps.due(link.toString(), clock.mono() + 2 * link);
  expect(await waited(clock, gaps.next(8))).toBe(50);
});
