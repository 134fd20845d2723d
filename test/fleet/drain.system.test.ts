// Needs Debian packages: mosquitto, postgresql-15.
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { fleetClock } from "../../simulators/fleet/clock.ts";
import { recordFault } from "../support/faults.ts";
import { temporaryFolder } from "../support/temporary.ts";
import type { ServicePart } from "./parts.ts";
import { rideSmall, smallBroker, smallSite } from "./small-site.ts";

const GATEWAYS = 100;
/** Real time before each SIGTERM. */
const PAUSE_MS = 500;

it("fault matrix row 51: each service role finishes its work at SIGTERM, without a lost, duplicated or unanswered message", async () => {
  const folder = temporaryFolder();
  const stopping = new AbortController();
  onTestFinished(() => stopping.abort());
  const broker = await smallBroker(folder);
  const site = await smallSite(folder, { gateways: GATEWAYS, broker: broker.service });
  const { workers, http } = site;
  const others = [await site.role("figures", ["--role", "figures"]), http];
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
  let striking: Promise<void> | undefined;
  const { account, ran } = await rideSmall(site, {
    gateways: GATEWAYS,
    seed: 5,
    clock: fleetClock(5),
    length_ms: 60_000,
    story: [],
    drain_ms: 60_000,
    signal: stopping.signal,
    show: ({ connected }) => void (connected === GATEWAYS && (striking ??= stopAll())),
    draining: () => striking ?? Promise.reject(new Error("the gateways never were all connected")),
  });
  const { lost, doubled, wrong, waiting, refused, acked } = account;
  const { unanswered } = ran.meter;
  const passed = lost + doubled + wrong + waiting + refused + unanswered === 0;
  const injected = ended.length;
  recordFault({ row: 51, fault: "SIGTERM of each role under load", injected, lost, doubled, wrong, passed });
  expect(ended).toEqual([...workers, ...workers, ...others].map(({ name }) => [name, 0]));
  expect({ ...account, unanswered }).toMatchObject({
    lost: 0,
    doubled: 0,
    wrong: 0,
    waiting: 0,
    refused: 0,
    unanswered: 0,
  });
  expect(acked).toBeGreaterThan(GATEWAYS * 4 * 51);
});
