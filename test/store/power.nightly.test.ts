import { expect, it } from "vitest";
import { recordFault } from "../support/faults.ts";
import { cutPower } from "../support/power/cuts.ts";
import { memoryFolder } from "../support/temporary.ts";
import { seededRandom } from "../support/virtual-site.ts";

it("a store whose power is cut after any write of a long run opens clean with everything durable", () => {
  const random = seededRandom(5);
  const plan = { commits: 900, ordered_every: 1, lossy_every: 1, losses: 1 };
  const cuts = cutPower(memoryFolder(), plan, () => random.next());
  const { lossy, ordered, lost, wrong } = cuts;
  const passed = lost === 0 && wrong === 0;
  recordFault({ row: 3, fault: "power cut, every write", injected: lossy + ordered, lost, doubled: 0, wrong, passed });
  process.stdout.write(`${JSON.stringify(cuts)}\n`);
  expect(cuts).toMatchObject({ lost: 0, wrong: 0, examples: [] });
  expect(cuts.ordered).toBeGreaterThan(10_000);
});
