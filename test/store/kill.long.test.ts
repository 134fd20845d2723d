import { expect, it } from "vitest";
import { recordFault } from "../support/faults.ts";
import { killStore } from "./store-kills.ts";
import { memoryFolder } from "../support/temporary.ts";
import { seededRandom } from "../support/seeded-random.ts";

const CYCLES = 100;

it("a writer killed at any moment, while it commits, thins and delivers, loses no taken reading and has none twice", async () => {
  const random = seededRandom(1);
  const kills = await killStore(memoryFolder(), CYCLES, () => random.next());
  const { lost, doubled } = kills;
  const passed = lost === 0 && doubled === 0;
  recordFault({ row: 1, fault: "store's writer killed", injected: CYCLES, lost, doubled, wrong: 0, passed });
  process.stdout.write(`${JSON.stringify(kills)}\n`);
  expect(kills).toMatchObject({ kills: CYCLES, lost: 0, doubled: 0 });
  expect(kills.taken).toBeGreaterThan(20 * CYCLES);
  expect(kills.delivered).toBeGreaterThan(10 * CYCLES);
  expect(kills.thinned).toBeGreaterThan(10 * CYCLES);
});
