// Needs Debian packages: mosquitto, postgresql-15.
import { mkdirSync, writeFileSync } from "node:fs";
import { expect, it, onTestFinished } from "vitest";
import { recordFault } from "../support/faults.ts";
import { seedOf } from "../support/seed.ts";
import { ofTest, temporaryFolder } from "../support/temporary.ts";
import { rideFleet } from "./run.ts";
import { SECOND_MS } from "../../src/domain/time.ts";

const RESULTS = new URL("../results/", import.meta.url);

it("row 50: two hundred gateways lose nothing while brokers, PostgreSQL and the service's processes are killed ten times", async () => {
  const stopping = new AbortController();
  onTestFinished(() => stopping.abort());
  const lines: string[] = [];
  const { kills, account, ran, ...result } = await rideFleet({
    folder: temporaryFolder(),
    gateways: 200,
    minutes: 0.8,
    speed: 1,
    outage_minutes: 0.15,
    seed: seedOf("fleet"),
    kill_every_ms: 4 * SECOND_MS,
    drain_ms: 120 * SECOND_MS,
    hasten: 120,
    atEnd: ofTest,
    signal: stopping.signal,
    told: (line) => void lines.push(line),
  });
  const { gateways, batches, lost, doubled, ack_p99_ms } = result;
  mkdirSync(RESULTS, { recursive: true });
  const told = { gateways, batches, kills, lost, doubled, ack_p99_ms };
  writeFileSync(new URL("fleet.json", RESULTS), `${JSON.stringify(told, null, 2)}\n`);
  process.stdout.write(`fleet: ${JSON.stringify({ ...told, account, befell: ran.faults })}\n`);
  const { wrong, waiting, refused } = account;
  const passed = lost + doubled + wrong + waiting + refused === 0;
  recordFault({
    row: 50,
    fault: "a fleet's service killed, part by part",
    injected: kills,
    lost,
    doubled,
    wrong,
    passed,
  });
  expect({ lost, doubled, wrong, waiting, refused }, lines.slice(-20).join("\n")).toEqual({
    lost: 0,
    doubled: 0,
    wrong: 0,
    waiting: 0,
    refused: 0,
  });
  expect(kills).toBeGreaterThanOrEqual(10);
  expect(account.acked).toBeGreaterThan(gateways * 4 * 51);
});
