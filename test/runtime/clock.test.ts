import { expect, it } from "vitest";
import { systemClock } from "../../src/runtime/clock.ts";

it("the system clock's sleep rejects with the abort signal's reason before or during the wait", async () => {
  const reason = new Error("enough");
  const ending = new AbortController();
  const sleeping = systemClock().sleep(60_000, ending.signal);
  ending.abort(reason);
  await expect(sleeping).rejects.toBe(reason);
  await expect(systemClock().sleep(0, ending.signal)).rejects.toBe(reason);
  await systemClock().sleep(0);
});
