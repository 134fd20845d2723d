import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { ranLine } from "../../simulators/fleet/cli.ts";
import { fleetClock } from "../../simulators/fleet/clock.ts";
import { runFleet } from "../../simulators/fleet/fleet.ts";
import { storyOf } from "../../simulators/fleet/story.ts";
import { recordFault } from "../support/faults.ts";
import { temporaryFolder } from "../support/temporary.ts";
import type { BrokerProcess } from "../system/broker-outages.ts";
import type { Part } from "./parts.ts";
import { ADMIN_KEY, smallSite } from "./small-site.ts";

export interface BrokerRow {
  readonly name: string;
  /** A broker that lets everybody in. */
  readonly make: (folder: string) => Promise<Pick<BrokerProcess, "service" | "kill" | "start">>;
  /** Whether it shares what comes among the workers, or each of them gets all. */
  readonly way: "shared" | "plain";
}

const GATEWAYS = 20;
const SPEED = 4;
const LENGTH_MS = 100_000;
/** Real, from one blow to the next. */
const PAUSE_MS = 3_000;
const DRAIN_MS = 120_000;

/** One after the other: a worker, the broker, the database, both workers. */
async function blows(
  parts: readonly (readonly Pick<Part, "kill" | "start">[])[],
  signal: AbortSignal,
): Promise<number> {
  let count = 0;
  for (const struck of parts) {
    await sleep(PAUSE_MS, undefined, { signal });
    await Promise.all(struck.map((part) => part.kill()));
    await Promise.all(struck.map((part) => part.start()));
    count += struck.length;
  }
  return count;
}

/** The same story and the same blows for every broker: nothing is lost, nothing doubled, and how it shares is what was found out. */
export function brokerFleet({ name, make, way }: BrokerRow): void {
  it(`row 50: a fleet over ${name}: workers, broker and database killed, and nothing is lost or doubled`, async () => {
    const folder = temporaryFolder();
    const stopping = new AbortController();
    onTestFinished(() => stopping.abort());
    const broker = await make(folder);
    const site = await smallSite(folder, { gateways: GATEWAYS, broker: broker.service });
    const { postgres, workers, url } = site;
    const [first, second] = workers;
    if (first === undefined || second === undefined) throw new Error("two workers");
    const clock = fleetClock(SPEED);
    const striking = blows([[first], [broker], [postgres], [first, second]], stopping.signal);
    const ran = await runFleet({
      gateways: GATEWAYS,
      booths_per: 1,
      seed: 11,
      url,
      key: ADMIN_KEY,
      clock,
      length_ms: LENGTH_MS,
      story: storyOf({ seed: 11, gateways: GATEWAYS, length_ms: LENGTH_MS, outage_ms: 0 }),
      drain_ms: DRAIN_MS,
      hasten: 120,
      signal: stopping.signal,
      show: () => undefined,
      told: () => undefined,
      async draining() {
        await striking;
      },
    });
    const account = await site.account(ran);
    const isPlain = workers.some((worker) => worker.lines().some((line) => line.includes("shares no messages")));
    process.stdout.write(`${name}: ${isPlain ? "plain" : "shared"}; ${JSON.stringify(account)}; ${ranLine(ran)}\n`);
    const { lost, doubled, wrong, waiting, refused } = account;
    const passed = lost + doubled + wrong + waiting + refused === 0;
    recordFault({ row: 50, fault: `a fleet over ${name}`, injected: await striking, lost, doubled, wrong, passed });
    expect({ lost, doubled, wrong, waiting, refused }).toEqual({
      lost: 0,
      doubled: 0,
      wrong: 0,
      waiting: 0,
      refused: 0,
    });
    expect(isPlain ? "plain" : "shared").toBe(way);
    expect(account.acked).toBeGreaterThan(GATEWAYS * 5 * 51);
  });
}
