// Needs Debian packages: mosquitto, postgresql-15.
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { lookInto, placeFleet, ranLine } from "../../simulators/fleet/cli.ts";
import { fleetClock } from "../../simulators/fleet/clock.ts";
import { runFleet } from "../../simulators/fleet/fleet.ts";
import { recordFault } from "../support/faults.ts";
import { ofTest, temporaryFolder } from "../support/temporary.ts";
import { freePort } from "../system/mosquitto.ts";
import { mosquittoPart, postgresPart, type ServicePart, servicePart } from "./parts.ts";

const GATEWAYS = 100;
const KEY = "fleet-admin";
const SPEED = 5;
const LENGTH_MS = 60_000;
const DRAIN_MS = 60_000;
/** Real, from one SIGTERM to the next. */
const PAUSE_MS = 500;

it("row 51: each role finishes at SIGTERM what it has under way: nothing is lost, doubled or left unanswered", async () => {
  const folder = temporaryFolder();
  const stopping = new AbortController();
  onTestFinished(() => stopping.abort());
  const postgres = await postgresPart(folder, ofTest);
  const broker = await mosquittoPart(folder, "broker", ofTest);
  await Promise.all([postgres.start(), broker.start()]);
  placeFleet(postgres.url, GATEWAYS, KEY);
  const named = ["--store", postgres.url, "--broker", broker.url.replace("//", "//service@")];
  const port = (await freePort()).toString();
  const role = (name: string, argv: readonly string[]): ServicePart =>
    servicePart(name, [...argv, ...named], { atEnd: ofTest });
  const workers = ["ingest-1", "ingest-2"].map((name) => role(name, ["--role", "ingest"]));
  const others = [role("figures", ["--role", "figures"]), role("http", ["--role", "http", "--port", port])];
  await Promise.all([...workers, ...others].map((part) => part.start()));
  const ended: [name: string, code: number | string][] = [];
  const stop = async (part: ServicePart): Promise<void> => {
    await sleep(PAUSE_MS, undefined, { signal: stopping.signal });
    ended.push([part.name, await part.stop()]);
  };
  const stopAll = async (): Promise<void> => {
    for (const worker of [...workers, ...workers]) {
      await stop(worker);
      await worker.start();
    }
    for (const part of others) await stop(part);
  };
  const url = `http://127.0.0.1:${port}`;
  let striking: Promise<void> | undefined;
  const ran = await runFleet({
    ...{ gateways: GATEWAYS, booths_per: 1, seed: 5, url, key: KEY, clock: fleetClock(SPEED), length_ms: LENGTH_MS },
    ...{ story: [], drain_ms: DRAIN_MS, signal: stopping.signal, told: () => undefined },
    show: ({ connected }) => void (connected === GATEWAYS && (striking ??= stopAll())),
    draining: () => striking ?? Promise.reject(new Error("the gateways never were all connected")),
  });
  const look = await lookInto(postgres.url);
  const { lost, doubled, wrong, waiting, refused, acked } = await ran.account(look, 1).finally(() => look.close());
  process.stdout.write(`drain: ${ranLine(ran)}\n`);
  const { unanswered } = ran.meter;
  const passed = lost + doubled + wrong + waiting + refused + unanswered === 0;
  const injected = ended.length;
  recordFault({ row: 51, fault: "SIGTERM of each role under load", injected, lost, doubled, wrong, passed });
  expect(ended).toEqual([...workers, ...workers, ...others].map(({ name }) => [name, 0]));
  expect({ lost, doubled, wrong, waiting, refused, unanswered }).toEqual({
    ...{ lost: 0, doubled: 0, wrong: 0, waiting: 0, refused: 0, unanswered: 0 },
  });
  expect(acked).toBeGreaterThan(GATEWAYS * 4 * 51);
});
