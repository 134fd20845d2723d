import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "vitest";
import type { LinkAccount } from "../../src/delivery/port.ts";
import { deliveryBed, type DeliveryBed } from "../e2e/delivery-bed.ts";
import { held } from "../e2e/delivery-rows.ts";
import { until } from "../support/eventually.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { SECOND_MS, MINUTE_MS } from "../../src/domain/time.ts";

/** A broker of others as a process of its own. */
export interface BrokerProcess {
  /** Where gateways connect. */
  readonly url: string;
  /** Where the service joins it. */
  readonly service: { readonly url: string; readonly password: string };
  /** The broker knows that user, a moment from now on. */
  letIn(user: string, password: string): void;
  /** kill -9 */
  kill(): Promise<void>;
  /** SIGTERM */
  stop(): Promise<void>;
  start(): Promise<void>;
}

export interface OutageRow {
  readonly name: string;
  readonly make: (folder: string) => Promise<BrokerProcess>;
  /** What it speaks, and what of that status tells. */
  readonly mqtt: { readonly version: "5" | "3.1.1"; readonly why: RegExp };
  /** Restarts in quick succession. */
  readonly quick: number;
}
/** A broker that went on being listened for is back when it is acked through it again. */
const BACK_WITHIN_MS = 120_000;

interface Outages {
  readonly bed: DeliveryBed;
  readonly broker: BrokerProcess;
  readonly acked: () => number;
  /** There is a session, and nothing to be sent over it: only time brings more. */
  readonly isIdle: () => boolean;
}

/**
 * How long after the broker's return something is acked again, in the site's time. Only the agent's own waits take of that time: it
 * stands still while the broker starts, and all but so while the sockets speak.
 */
async function outage(
  { bed, broker, acked, isIdle }: Outages,
  end: "kill" | "stop",
  away_ms: number,
): Promise<{ readonly back_ms: number }> {
  await bed.pass(20 * SECOND_MS);
  await broker[end]();
  await until(() => !bed.service.joined(), "the service has lost its broker");
  await bed.pass(away_ms);
  await broker.start();
  await until(() => bed.service.joined(), "the service has its broker again", BACK_WITHIN_MS);
  const returned = bed.site.clock.mono();
  const before = acked();
  const tried = bed.connects();
  const deadline = performance.now() + BACK_WITHIN_MS;
  while (acked() === before) {
    if (performance.now() > deadline) throw new Error(`not back: ${bed.site.lines.slice(-5).join(" | ")}`);
    await bed.site.clock.run(bed.connects() === tried || isIdle() ? 100 : 1);
    await delay(2);
  }
  return { back_ms: bed.site.clock.mono() - returned };
}

/** Row 48: delivery, kill -9, quick restarts, a short outage, a clean restart after a long one. The same for every broker. */
export function outageRow({ name, make, mqtt, quick }: OutageRow): void {
  it(`row 48: ${name} killed and restarted has the gateway back in time, and nothing is lost or doubled`, async () => {
    const broker = await make(temporaryFolder());
    const known = new Set<string>();
    const letIn = ({ username, credential }: LinkAccount): Promise<void> => {
      if (!known.has(username)) broker.letIn(username, credential);
      known.add(username);
      return Promise.resolve();
    };
    const bed = await deliveryBed({ broker: broker.service, url: () => broker.url, connecting: letIn });
    const agent = await bed.start();
    await bed.until("the booth is active", () => agent.status().booths[0]?.provisioning.state === "active");
    const spoken = agent.status().service.mqtt;
    expect(spoken?.version).toBe(mqtt.version);
    expect(spoken?.why).toMatch(mqtt.why);
    const acked = (): number => agent.status().booths[0]?.log.acked_seq ?? 0;
    const isIdle = (): boolean => {
      const { service, booths } = agent.status();
      return service.kind === "up" && acked() === booths[0]?.log.newest_seq;
    };
    const at: Outages = { bed, broker, acked, isIdle };
    const short: number[] = [];
    for (let i = 0; i < quick; i += 1) short.push((await outage(at, "kill", 3 * SECOND_MS)).back_ms);
    short.push((await outage(at, "kill", 55 * SECOND_MS)).back_ms);
    const { back_ms: long } = await outage(at, "stop", 10 * MINUTE_MS);
    process.stdout.write(`${name}: back after ${short.join(", ")} ms, after ten minutes ${long} ms\n`);
    const isInTime = Math.max(...short) <= 15 * SECOND_MS && long <= 65 * SECOND_MS;
    held({ row: 48, fault: `${name} killed and restarted`, injected: quick + 2 }, await bed.settle(agent), isInTime);
    expect(Math.max(...short)).toBeLessThanOrEqual(15 * SECOND_MS);
    expect(long).toBeLessThanOrEqual(65 * SECOND_MS);
  });
}
