import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { createWaiters } from "../../src/domain/waiters.ts";

it("the waiters list keeps the order of arrival, and omits waiters that left", () => {
  const waiting = createWaiters<string>();
  const [a, b, c, d] = ["a", "b", "c", "d"].map((one) => waiting.add(one));
  expect([waiting.all(), waiting.size]).toEqual([["a", "b", "c", "d"], 4]);
  b?.();
  expect(waiting.all()).toEqual(["a", "c", "d"]);
  a?.();
  d?.();
  expect(waiting.all()).toEqual(["c"]);
  waiting.add("e");
  expect(waiting.all()).toEqual(["c", "e"]);
  c?.();
  // Who has left leaves nobody else's place.
  for (const leave of [a, b, c, d]) leave?.();
  expect([waiting.all(), waiting.size]).toEqual([["e"], 1]);
});

it("the waiters list accepts equal values, and allows waiters to leave while the list is read", () => {
  const waiting = createWaiters<() => void>();
  const told: number[] = [];
  const leaves = [1, 2, 3].map((nth) =>
    waiting.add(() => {
      told.push(nth);
      for (const leave of leaves) leave();
    }),
  );
  for (const act of waiting.all()) act();
  expect([told, waiting.size]).toEqual([[1, 2, 3], 0]);
  const act = (): void => undefined;
  const first = waiting.add(act);
  waiting.add(act);
  first();
  expect(waiting.all()).toEqual([act]);
});

/** Each one waits for a good part of the time between two collections, as what is under way to the service does. */
const CHURN = `
  const { createWaiters } = await import(process.argv[1]);
  const waiting = createWaiters();
  const leaves = [];
  let litter;
  for (let round = 0; round < 100_000; round += 1) {
    for (let nth = 0; nth < 20; nth += 1) litter = new Array(64).fill(nth);
    leaves.push(waiting.add(new Array(100).fill(round + 0.5)));
    if (leaves.length > 40) leaves.shift()();
  }
`;

it("waiters that left the list are freed by minor garbage collections", () => {
  const module = new URL("../../src/domain/waiters.ts", import.meta.url).href;
  const argv = ["--trace-gc", "--max-semi-space-size=1", "--input-type=module", "--eval", CHURN, module];
  const text = execFileSync(process.execPath, argv, { encoding: "utf8" });
  // MB behind each collection of the young: a Set in their place comes to 15 and more.
  const kept = [...text.matchAll(/Scavenge [\d.]+ \([\d.]+\) -> ([\d.]+)/g)].map(([, mb]) => Number(mb));
  expect(kept.length).toBeGreaterThan(500);
  expect(Math.max(...kept)).toBeLessThan(9);
});
