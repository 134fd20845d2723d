import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { gunzipSync } from "node:zlib";
import { Aedes } from "aedes";
import { expect, it, onTestFinished } from "vitest";
import { createMqttLink } from "../../src/cloud/mqtt-link.ts";
import { eventually } from "../support/eventually.ts";
import { silentLog } from "../support/silent-log.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { PROVISION_KEY } from "../support/virtual-service.ts";
import { virtualSite, type VirtualSite } from "../support/virtual-site.ts";

/** Mon 2026-03-02 07:50 in Denver. */
const START = Date.UTC(2026, 2, 2, 14, 50);

interface Batch {
  readonly st: string;
  readonly s0: number;
  readonly k: readonly string[];
}

/** A broker of somebody who answers nothing; it knows the customer's key. */
async function quietBroker(): Promise<{ readonly url: string; readonly batches: readonly Batch[] }> {
  const broker = await Aedes.createBroker();
  // eslint-disable-next-line max-params -- the library's signature
  broker.authenticate = (_, __, password, done) => done(null, password?.toString() === PROVISION_KEY);
  const batches: Batch[] = [];
  broker.on("publish", ({ topic, payload }) => {
    if (!topic.endsWith("/up/batch")) return;
    batches.push(JSON.parse(gunzipSync(Buffer.from(payload)).toString("utf8")) as Batch);
  });
  const server = createServer((socket) => broker.handle(socket)).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.close();
    await new Promise<void>((resolve) => broker.close(resolve));
  });
  return { url: `mqtt://127.0.0.1:${(server.address() as AddressInfo).port.toString()}`, batches };
}

it("at a service that acks nothing the broker's word moves the cursor, and the state says whose word it is", async () => {
  const broker = await quietBroker();
  const made: { site: VirtualSite | null } = { site: null };
  const site = virtualSite({
    folder: temporaryFolder(),
    scenario: "busy-day",
    start: START,
    facility: { plain: true },
    broker_url: broker.url,
    way: (clock, service_time) => ({
      http: {
        send: (request) => made.site?.service.http.send(request) ?? Promise.reject(new Error("no service yet")),
        close: () => undefined,
      },
      link: createMqttLink({ clock, service_time, agentVersion: "0.0.0", log: silentLog }),
    }),
  });
  made.site = site;
  onTestFinished(() => site.close());
  const agent = await site.start();
  const log = () => agent.status().booths[0]?.log ?? { acked_seq: 0, newest_seq: 0 };
  await eventually("the broker has taken what was recorded", async () => {
    await site.clock.run(4_000);
    await delay(1);
    const { acked_seq, newest_seq } = log();
    return acked_seq > 60 && acked_seq === newest_seq ? true : undefined;
  });
  expect(agent.status().booths[0]?.provisioning).toMatchObject({ state: "active", delivery: "broker" });
  const seqs = broker.batches.flatMap(({ s0, k }) => k.map((_, index) => s0 + index));
  expect(seqs).toEqual(Array.from({ length: log().acked_seq }, (_, index) => index + 1));
  // Nothing of our own was asked of the service, and it was given no reading.
  expect(site.service.came).toEqual([]);
});
