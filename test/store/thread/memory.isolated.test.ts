import { expect, test } from "vitest";

import { collectGarbage } from "../../../src/store/thread/memory.ts";

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
