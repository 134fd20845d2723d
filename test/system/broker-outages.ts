import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "vitest";
import type { LinkAccount } from "../../src/delivery/port.ts";
import { deliveryBed, type DeliveryBed } from "../e2e/delivery-bed.ts";
import { held } from "../e2e/delivery-rows.ts";
import { until } from "../support/eventually.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { SECOND_MS, MINUTE_MS } from "../../src/domain/time.ts";

/** A third-party broker as a separate process. */
export interface BrokerProcess {
  /** URL for gateways. */
  readonly url: string;
  /** URL and password for the service. */
  readonly service: { readonly url: string; readonly password: string };
  /** Adds the user to the broker's users. Returns before the broker has read the change. */
  letIn(user: string, password: string): void;
  /** Sends kill -9. */
  kill(): Promise<void>;
  /** Sends SIGTERM. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

export interface OutageRow {
  readonly name: string;
  readonly make: (folder: string) => Promise<BrokerProcess>;
  /** The version that the broker supports, and the reason for it in the agent's status. */
  readonly mqtt: { readonly version: "5" | "3.1.1"; readonly why: RegExp };
  /** The number of restarts in quick succession. */
  readonly quick: number;
}
/** A restarted broker counts as back after a new ack through it. This is the deadline. */
const BACK_WITHIN_MS = 120_000;

interface Outages {
  readonly bed: DeliveryBed;
  readonly broker: BrokerProcess;
  readonly acked: () => number;
  /** Checks that a session exists and no record waits to be sent. Only later polls bring more records. */
  readonly isIdle: () => boolean;
}

/**
 * Ends the broker, starts it again and measures the time until the next ack, in the site's virtual time. Virtual time
 * is stopped while the broker starts and nearly stopped while sockets transfer data, so the result contains only the
 * agent's own waits.
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

/**
 * Tests row 48 with a broker: delivery, kill -9, quick restarts, a short outage, and a clean restart after a long
 * outage.
 */
export function outageRow({ name, make, mqtt, quick }: OutageRow): void {
  it(`the gateway reconnects in time after ${name} was killed and restarted, without a lost or duplicated record (fault matrix row 48)`, async () => {
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
