import { expect, it } from "vitest";
import { systemClock } from "../../src/runtime/clock.ts";

it("a sleep that is aborted before or during its wait rejects with the abort's reason", async () => {
  const reason = new Error("enough");
  const ending = new AbortController();
  const sleeping = systemClock().sleep(60_000, ending.signal);
  ending.abort(reason);
  await expect(sleeping).rejects.toBe(reason);
  await expect(systemClock().sleep(0, ending.signal)).rejects.toBe(reason);
  await systemClock().sleep(0);
});
