// Needs Debian packages: mosquitto, postgresql-15.
import { expect, it } from "vitest";
import { recordFault } from "../support/faults.ts";
import { restoreDrill } from "./restore-drill.ts";

it("fault matrix row 53: a service restored from a base backup gets back every acked record, from virtual gateways and from a real agent", async () => {
  const drilled = await restoreDrill({
    gateways: 40,
    speed: 10,
    traffic_ms: 10_000,
    healed_within_ms: 40_000,
    agent_heartbeat_ms: 10_000,
  });
  process.stdout.write(`${JSON.stringify(drilled)}\n`);
  const { lost, doubled, wrong } = drilled.account;
  const passed = drilled.missing_later + lost + doubled + wrong === 0;
  recordFault({ row: 53, fault: "base backup restored under load", injected: 1, lost, doubled, wrong, passed });
  expect(drilled.missing).toBeGreaterThan(100);
  expect(drilled.missing_of_agent).toBeGreaterThan(0);
  expect(drilled.metrics).toMatchObject({ booth_service_gateways: 41, booth_service_gateways_online: 41 });
  expect(drilled).toMatchObject({ missing_later: 0, missing_of_agent_later: 0 });
  expect(drilled.account).toMatchObject({ lost: 0, doubled: 0, wrong: 0, waiting: 0, refused: 0 });
});
