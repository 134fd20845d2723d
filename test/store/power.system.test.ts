// Needs a Debian package: gcc (with libc6-dev).
import { describe, expect, it } from "vitest";
import { recordFault } from "../support/faults.ts";
import { cutPower, type Cuts } from "./power/cuts.ts";
import { memoryFolder } from "../support/temporary.ts";
import { seededRandom } from "../support/seeded-random.ts";

/**
 * Number of commits with somewhat more than 10,000 writes and syncs, while rows are deleted, acks move and the agent
 * restarts once.
 */
const COMMITS = 330;

function report(cuts: Cuts, fault: string): void {
  const { lossy, ordered, legal, lost, wrong } = cuts;
  const passed = lost === 0 && wrong === 0;
  recordFault({ row: 3, fault, injected: lossy + ordered + legal, lost, doubled: 0, wrong, passed });
  recordFault({ row: 4, fault: "unsynced writes torn by sector", injected: lossy, lost, doubled: 0, wrong, passed });
  process.stdout.write(`${JSON.stringify(cuts)}\n`);
}

describe("a store after a power cut", () => {
  it("opens undamaged with all durable commits, whatever unsynced writes were lost, torn or reordered", () => {
    const random = seededRandom(3);
    const plan = { commits: COMMITS, ordered_every: 50, lossy_every: 20, losses: 2, legal_every: 500 };
    const cuts = cutPower(memoryFolder(), plan, () => random.next());
    report(cuts, "power cut, sampled");
    expect(cuts).toMatchObject({ lost: 0, wrong: 0, examples: [] });
    expect(cuts.operations).toBeGreaterThan(10_000);
    expect(cuts.lossy).toBeGreaterThan(1_000);
    expect(cuts.thinned).toBeGreaterThan(1_000);
  });

  it("lacks records if the disk ignores syncs, which proves that the test detects losses", () => {
    const random = seededRandom(4);
    const plan = { commits: 60, ordered_every: 1_000_000, lossy_every: 20, losses: 2, deaf: true };
    expect(cutPower(memoryFolder(), plan, () => random.next()).lost).toBeGreaterThan(10);
  });
});
