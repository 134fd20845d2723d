import { expect, it } from "vitest";
import { recordFault } from "../support/faults.ts";
import { cutPower } from "./power/cuts.ts";
import { memoryFolder } from "../support/temporary.ts";
import { seededRandom } from "../support/seeded-random.ts";

/**
 * Number of commits with somewhat more than 10,000 writes and syncs, while rows are deleted, acks move and the agent
 * restarts once.
 */
const COMMITS = 330;

it("after a power cut at any write, with any loss of unsynced writes, a store opens undamaged with all durable commits", () => {
  const random = seededRandom(5);
  const plan = { commits: COMMITS, ordered_every: 1, lossy_every: 5, losses: 1, legal_every: 61 };
  const cuts = cutPower(memoryFolder(), plan, () => random.next());
  const { lossy, ordered, legal, lost, wrong } = cuts;
  const passed = lost === 0 && wrong === 0;
  recordFault({
    row: 3,
    fault: "power cut, every write",
    injected: lossy + ordered + legal,
    lost,
    doubled: 0,
    wrong,
    passed,
  });
  process.stdout.write(`${JSON.stringify(cuts)}\n`);
  expect(cuts).toMatchObject({ lost: 0, wrong: 0, examples: [] });
  expect(cuts.ordered).toBeGreaterThan(10_000);
  expect(cuts.lossy).toBeGreaterThan(2_000);
  expect(cuts.legal).toBeGreaterThan(500);
});
