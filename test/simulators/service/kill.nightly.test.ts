import { expect, it } from "vitest";
import { recordFault } from "../../support/faults.ts";
import { seedOf } from "../../support/seed.ts";
import { seededRandom } from "../../support/seeded-random.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { killService } from "./service-kills.ts";

const KILLS = 100;

it(`a service that is killed ${KILLS} times during ingest keeps every acked record exactly once, and only whole batches`, async () => {
  const counts = await killService(temporaryFolder(), KILLS, seededRandom(seedOf("service kills")));
  process.stdout.write(`service kill -9: ${JSON.stringify(counts)}\n`);
  const { missing: lost, doubled, torn, equal } = counts;
  const wrong = torn + (equal ? 0 : 1);
  const passed = lost + doubled + wrong === 0;
  recordFault({ row: 27, fault: "service kill -9 in mid-ingest", injected: KILLS, lost, doubled, wrong, passed });
  expect({ lost, doubled, torn, equal }).toEqual({ lost: 0, doubled: 0, torn: 0, equal: true });
  // The kills met a service at work: batches were under way, and others were acked.
  expect(counts.under_way).toBeGreaterThan(KILLS);
  expect(counts.acked).toBeGreaterThan(KILLS);
});
