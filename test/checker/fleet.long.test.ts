import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, it, onTestFinished } from "vitest";
import { placeFleet } from "../../simulators/fleet/cli.ts";
import { fleetClock } from "../../simulators/fleet/clock.ts";
import { runFleet } from "../../simulators/fleet/fleet.ts";
import { storyOf } from "../../simulators/fleet/story.ts";
import { startService } from "../../simulators/service/start.ts";
import { runProgram } from "../support/processes.ts";
import { memoryFolder } from "../support/temporary.ts";
import { CHECKER } from "./tapped-history.ts";

const KEY = "fleet-admin";
const GATEWAYS = 5;
const LENGTH_MS = 60_000;

it("the independent checker finds no fault in a fleet's delivery, and finds a row deleted or changed afterwards", async () => {
  const dataDir = memoryFolder();
  const history = join(dataDir, "history.jsonl");
  placeFleet(dataDir, GATEWAYS, KEY);
  const clock = fleetClock(10);
  const service = await startService({ dataDir, port: 0, mqttPort: 0, clock });
  onTestFinished(() => service.stop());
  const ran = await runFleet({
    gateways: GATEWAYS,
    booths_per: 1,
    seed: 5,
    url: service.url,
    key: KEY,
    clock,
    drain_ms: 120_000,
    hasten: 120,
    story: storyOf({ seed: 5, gateways: GATEWAYS, length_ms: LENGTH_MS, outage_ms: 10_000 }),
    length_ms: LENGTH_MS,
    history,
    signal: new AbortController().signal,
    show: () => undefined,
    told: () => undefined,
  });
  const judge = () => runProgram(CHECKER, ["--history", history, "--sqlite", join(dataDir, "service.db")]);
  const { code, out } = await judge();
  process.stdout.write(`${out}${JSON.stringify(ran.faults)}\n`);
  const [, offered = 0, acked = 0, stored = 0] = (
    /^(\d+) records offered, (\d+) acked, (\d+) stored\n$/.exec(out) ?? []
  ).map(Number);
  expect({ code, out }).toEqual({ code: 0, out: `${offered} records offered, ${acked} acked, ${stored} stored\n` });
  expect(acked).toBeGreaterThan(GATEWAYS * 200);

  const db = new Database(join(dataDir, "service.db"));
  onTestFinished(() => void db.close());
  db.exec("DELETE FROM records WHERE seq = 10 AND stream_no = (SELECT min(id) FROM streams)");
  db.exec("UPDATE records SET value = '-1' WHERE seq = 20 AND stream_no = (SELECT min(id) FROM streams)");
  const after = await judge();
  expect(after.code).toBe(1);
  expect(after.out).toMatch(/^altered: 1 \(\S+ 20\)$/m);
  expect(after.out).toMatch(/^lost: 1 \(\S+ 10\)$/m);
});
