import { expect, it, onTestFinished } from "vitest";
import Database from "better-sqlite3";
import { join } from "node:path";
import { isTrue, placeFleet } from "../../../simulators/fleet/cli.ts";
import { lookInto } from "../../../simulators/fleet/look.ts";
import { fleetClock } from "../../../simulators/fleet/clock.ts";
import { type RanFleet, runFleet } from "../../../simulators/fleet/fleet.ts";
import { storyOf } from "../../../simulators/fleet/story.ts";
import { startService } from "../../../simulators/service/start.ts";
import { memoryFolder } from "../../support/temporary.ts";

const KEY = "fleet-admin";
const GATEWAYS = 30;
const LENGTH_MS = 5 * 60_000;

/**
 * Plays a story of minutes in seconds at the service on one machine. A gateway with a conflict believes the service
 * only after an hour, so the fleet's time is sped up once nothing is acked.
 */
async function played(dataDir: string): Promise<RanFleet> {
  placeFleet(dataDir, GATEWAYS * 2, KEY);
  const clock = fleetClock(20);
  const service = await startService({ dataDir, port: 0, mqttPort: 0, clock });
  onTestFinished(() => service.stop());
  return runFleet({
    gateways: GATEWAYS,
    booths_per: 2,
    seed: 5,
    url: service.url,
    key: KEY,
    clock,
    drain_ms: 120_000,
    hasten: 120,
    story: storyOf({ seed: 5, gateways: GATEWAYS, length_ms: LENGTH_MS, outage_ms: 30_000 }),
    length_ms: LENGTH_MS,
    signal: new AbortController().signal,
    show: () => undefined,
    told: () => undefined,
  });
}

it("a simulated fleet delivers every record despite all faults, and its final account finds deleted and changed records", async () => {
  const dataDir = memoryFolder();
  const ran = await played(dataDir);
  expect(ran.faults).toMatchObject({ outage: 1, offline: 3, duplicates: 2, fork: 1, replaced: 1, clock: 1, slow: 1 });
  expect(ran.meter.conflicts).toBeGreaterThan(0);
  const look = await lookInto(dataDir);
  onTestFinished(() => look.close());
  const account = await ran.account(look, 1);
  expect(account).toMatchObject({ lost: 0, doubled: 0, wrong: 0, waiting: 0, refused: 0 });
  expect(account.acked).toBeGreaterThan(GATEWAYS * 2 * 20 * 51);
  expect(account.read).toBeGreaterThanOrEqual(account.acked);
  expect(isTrue(account)).toBe(true);

  const db = new Database(join(dataDir, "service.db"));
  onTestFinished(() => void db.close());
  db.exec("DELETE FROM records WHERE seq BETWEEN 10 AND 12 AND stream_no = (SELECT min(id) FROM streams)");
  db.exec("UPDATE records SET value = '-1' WHERE seq = 20 AND stream_no = (SELECT min(id) FROM streams)");
  expect(await ran.account(look, 1)).toMatchObject({ lost: 3, wrong: 1, doubled: 0 });
});
