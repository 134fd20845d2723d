import { expect, test } from "vitest";

import { never, values } from "../../support/modbus-bed.ts";
import { opcuaBed } from "../../support/opcua-bed.ts";
import { spoiltRuns } from "../../support/spoilt-opcua.ts";

const bed = opcuaBed();

test("5,000 connections with spoilt answers: no crash, no wrong value", { timeout: 3_600_000 }, async () => {
  const driver = bed().make();
  await driver.open(never);
  const right = values(await driver.read("fast", never));
  const kinds = await spoiltRuns(bed(), { runs: 5000, right, seed: 1 });
  expect(kinds.get("malformed") ?? 0).toBeGreaterThan(500);
});
