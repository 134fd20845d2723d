// Needs Debian packages: mosquitto, postgresql-15.
import { expect, it } from "vitest";
import { restoreDrill } from "./restore-drill.ts";

it("a service restored from a base backup that is 5 minutes old lacks no acked record 5 minutes later", async () => {
  const minutes = 60_000;
  const times = { traffic_ms: 5 * minutes, healed_within_ms: 5 * minutes, agent_heartbeat_ms: minutes };
  const drilled = await restoreDrill({ gateways: 200, speed: 1, ...times });
  process.stdout.write(`${JSON.stringify(drilled)}\n`);
  expect(drilled.missing).toBeGreaterThan(20_000);
  expect(drilled.missing_of_agent).toBeGreaterThan(30);
  expect(drilled.metrics["booth_service_lacking_records"]).toBeGreaterThan(0);
  expect(drilled).toMatchObject({ missing_later: 0, missing_of_agent_later: 0 });
  expect(drilled.account).toMatchObject({ lost: 0, doubled: 0, wrong: 0, waiting: 0, refused: 0 });
});
