// Needs Debian packages: mosquitto, rabbitmq-server, nats-server, postgresql-15. Some 100 s each.
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { fleetClock } from "../../simulators/fleet/clock.ts";
import { storyOf } from "../../simulators/fleet/story.ts";
import { recordFault } from "../support/faults.ts";
import { temporaryFolder } from "../support/temporary.ts";
import type { BrokerProcess } from "../system/broker-outages.ts";
import { nats } from "../system/nats.ts";
import { rabbitmq } from "../system/rabbitmq.ts";
import type { Part } from "./parts.ts";
import { rideSmall, smallBroker, smallSite } from "./small-site.ts";

interface BrokerRow {
  readonly name: string;
  /** Starts a broker that accepts every client. */
  readonly make: (folder: string) => Promise<Pick<BrokerProcess, "service" | "kill" | "start">>;
  /** shared: the broker distributes messages among the workers; plain: each worker gets all. */
  readonly way: "shared" | "plain";
}

const GATEWAYS = 20;
const LENGTH_MS = 100_000;
/** Real time between two kills. */
const PAUSE_MS = 3_000;

/** Kills and restarts the parts, group by group. Returns the number of kills. */
async function killEach(
  groups: readonly (readonly Pick<Part, "kill" | "start">[])[],
  signal: AbortSignal,
): Promise<number> {
  for (const group of groups) {
    await sleep(PAUSE_MS, undefined, { signal });
    await Promise.all(group.map((part) => part.kill()));
    await Promise.all(group.map((part) => part.start()));
  }
  return groups.flat().length;
}

it.each<BrokerRow>([
  { name: "mosquitto 2.0", make: smallBroker, way: "shared" },
  { name: "RabbitMQ 3.10", make: (folder) => rabbitmq(folder, { isOpenDoor: true }), way: "plain" },
  { name: "NATS 2.9", make: nats, way: "plain" },
])(
  "fault matrix row 50: a fleet over $name loses and duplicates nothing while workers, broker and database are killed",
  async (row) => {
    const { name, make, way } = row;
    const folder = temporaryFolder();
    const stopping = new AbortController();
    onTestFinished(() => stopping.abort());
    const broker = await make(folder);
    const site = await smallSite(folder, { gateways: GATEWAYS, broker: broker.service });
    const { postgres, workers } = site;
    const [first, second] = workers;
    if (first === undefined || second === undefined) throw new Error("two workers");
    const killing = killEach([[first], [broker], [postgres], [first, second]], stopping.signal);
    const { account } = await rideSmall(site, {
      gateways: GATEWAYS,
      seed: 11,
      clock: fleetClock(4),
      length_ms: LENGTH_MS,
      story: storyOf({ seed: 11, gateways: GATEWAYS, length_ms: LENGTH_MS, outage_ms: 0 }),
      drain_ms: 120_000,
      hasten: 120,
      signal: stopping.signal,
      show: () => undefined,
      draining: () => killing.then(() => undefined),
    });
    const isPlain = workers.some((worker) => worker.lines().some((line) => line.includes("shares no messages")));
    const { lost, doubled, wrong, waiting, refused } = account;
    const passed = lost + doubled + wrong + waiting + refused === 0;
    recordFault({ row: 50, fault: `a fleet over ${name}`, injected: await killing, lost, doubled, wrong, passed });
    expect(account).toMatchObject({ lost: 0, doubled: 0, wrong: 0, waiting: 0, refused: 0 });
    expect(isPlain ? "plain" : "shared").toBe(way);
    expect(account.acked).toBeGreaterThan(GATEWAYS * 5 * 51);
  },
);
