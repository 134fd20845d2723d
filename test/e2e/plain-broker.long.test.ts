import { message } from "../../src/domain/message.ts";
import { render } from "../../src/domain/messages/render.ts";
import type { Text } from "../../src/domain/message.ts";
import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { gunzipSync } from "node:zlib";
import { Aedes } from "aedes";
import { expect, it, onTestFinished } from "vitest";
import { createMqttLink } from "../../src/delivery/mqtt/link.ts";
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

interface QuietBroker {
  readonly url: string;
  readonly batches: readonly Batch[];
  /** Accepts only this key from now on, and ends open sessions. */
  opensTo(key: string): void;
}

/** Starts a broker that knows the customer's key and has no service behind it. */
async function quietBroker(): Promise<QuietBroker> {
  const broker = await Aedes.createBroker();
  let opens = PROVISION_KEY;
  // eslint-disable-next-line max-params -- the library's signature
  broker.authenticate = (_, __, password, done) => done(null, password?.toString() === opens);
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
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => sockets.add(socket));
  const opensTo = (key: string): void => {
    opens = key;
    for (const socket of sockets) socket.destroy();
  };
  return { url: `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`, batches, opensTo };
}

/** Starts a gateway, a service without generations and that broker. `key` returns the key in the gateway's file. */
function siteWith(broker: QuietBroker, key: () => string): VirtualSite {
  const made: { site: VirtualSite | null } = { site: null };
  const site = virtualSite({
    folder: temporaryFolder(),
    scenario: "busy-day",
    start: START,
    facility: { plain: true },
    broker_url: broker.url,
    first_key: key,
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
  return site;
}

async function until(site: VirtualSite, what: string, condition: () => boolean): Promise<void> {
  await eventually(what, async () => {
    await site.clock.run(4_000);
    await delay(1);
    return condition() ? true : undefined;
  });
}

const seqsOf = ({ batches }: QuietBroker): number[] => batches.flatMap(({ s0, k }) => k.map((_, index) => s0 + index));

it("the broker's PUBACK counts as the ack if the service sends no acks, and the status names the broker as the source", async () => {
  const broker = await quietBroker();
  const site = siteWith(broker, () => PROVISION_KEY);
  const agent = await site.start();
  const log = () => agent.status().booths[0]?.log ?? { acked_seq: 0, newest_seq: 0 };
  await until(site, "the broker has taken what was recorded", () => {
    const { acked_seq, newest_seq } = log();
    return acked_seq > 60 && acked_seq === newest_seq;
  });
  expect(agent.status().booths[0]?.provisioning).toMatchObject({ state: "active", delivery: "broker" });
  expect(seqsOf(broker)).toEqual(Array.from({ length: log().acked_seq }, (_, index) => index + 1));
  // The service got no requests beyond the interface document and no readings.
  expect(site.service.came).toEqual([]);
});

it("a key that the broker rejects is reported, and records are kept until the broker accepts another key", async () => {
  const broker = await quietBroker();
  let key = PROVISION_KEY;
  const site = siteWith(broker, () => key);
  const agent = await site.start();
  const log = () => agent.status().booths[0]?.log ?? { acked_seq: 0, newest_seq: 0 };
  await until(site, "the broker has taken something", () => log().acked_seq > 20);
  broker.opensTo("another-key");
  const link = () => agent.status().service;
  await until(site, "the refusal is told", () => link().kind === "down" && /not authorized/i.test(reasonOf(link())));
  expect(link()).toMatchObject({
    kind: "down",
    advice: message("service.check.credential"),
  });
  const { acked_seq, newest_seq } = log();
  await until(site, "more is recorded", () => log().newest_seq > newest_seq + 50);
  expect(log().acked_seq).toBe(acked_seq);
  key = "another-key";
  await until(site, "the broker has taken the rest", () => log().acked_seq === log().newest_seq);
  expect([...new Set(seqsOf(broker))]).toEqual(Array.from({ length: log().acked_seq }, (_, index) => index + 1));
  expect(link().kind).toBe("up");
});

function reasonOf(link: { readonly kind: string; readonly reason?: Text }): string {
  return render(link.reason ?? "");
}
