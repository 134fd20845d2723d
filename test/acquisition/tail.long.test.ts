import { Worker } from "node:worker_threads";
import { expect, it } from "vitest";
import { openTail } from "../../src/acquisition/tail.ts";
import type { TakenEntry } from "../../src/domain/taken.ts";
import { memoryFolder } from "../support/temporary.ts";

/** An entry of about 2 kB. */
const poll = (take: number): TakenEntry => ({
  kind: "poll",
  take,
  stream: "s1",
  boot: "b1",
  mono: take * 1000,
  at: take,
  group: "x".repeat(2_000),
  answered: true,
  changes: [["mode", 3, "good"]],
});

it("a 40 MB tail file (readings not yet committed) is read in parts within a heap of 40 MB", async () => {
  const folder = memoryFolder();
  const tail = openTail(folder);
  const entries = 20_000;
  for (let take = 1; take <= entries; take += 500) {
    tail.append(Array.from({ length: 500 }, (_, index) => poll(take + index)));
  }
  tail.close();
  const worker = new Worker(new URL("./tail-reader.ts", import.meta.url), {
    workerData: { folder, stream: "s1" },
    resourceLimits: { maxOldGenerationSizeMb: 40 },
  });
  const said = await new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject));
  await worker.terminate();
  expect(said).toEqual({ found: entries, expected: entries, last_take: entries, left: 0 });
});
