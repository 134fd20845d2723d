import { expect } from "vitest";
import { recordFault } from "../../support/faults.ts";
import { killService } from "./service-kills.ts";
import { seedOf } from "../../support/seed.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { seededRandom } from "../../support/seeded-random.ts";

/** Kills a service so often in mid-ingest, and holds it to its acks. */
export async function holdServiceToItsAcks(kills: number): Promise<void> {
  const random = seededRandom(seedOf("service kills"));
  const counts = await killService(temporaryFolder(), kills, random);
  process.stdout.write(`service kill -9: ${JSON.stringify(counts)}\n`);
  const { missing, doubled, torn, equal } = counts;
  const wrong = torn + (equal ? 0 : 1);
  const passed = missing === 0 && doubled === 0 && wrong === 0;
  recordFault({
    row: 27,
    fault: "service kill -9 in mid-ingest",
    injected: kills,
    lost: missing,
    doubled,
    wrong,
    passed,
  });
  expect({ missing, doubled, torn, equal }).toEqual({ missing: 0, doubled: 0, torn: 0, equal: true });
  // The kills met the service at work: batches were under way, and others were acked.
  expect(counts.under_way).toBeGreaterThan(kills);
  expect(counts.acked).toBeGreaterThan(kills);
}
