import { rendered } from "../../src/domain/messages/render.ts";
import { expect, it } from "vitest";
import type { BrokerSession } from "../../src/outputs/port.ts";
import { DAY_MS, MINUTE_MS } from "../../src/domain/time.ts";
import { devicesTold } from "../simulation/laws/sparkplug.ts";
import type { PlantBroker } from "../simulation/outputs/broker.ts";
import { CODEC } from "../simulation/outputs/plant.ts";
import { START } from "../support/active-site.ts";
import { keysRead, sparkplugOutput, URL, virtualPlant } from "./virtual.ts";

const SECOND = "mqtt://127.0.0.1:1884";
const HOSTED = sparkplugOutput({ primary_host_id: "host" });
const TWO_SERVERS = sparkplugOutput({ primary_host_id: "host", more_urls: [SECOND] });

it("a Sparkplug output is up once a host of version 2.2 publishes ONLINE, and down after OFFLINE", async () => {
  const { site, broker, outputs } = virtualPlant(HOSTED);
  await site.start();
  await site.clock.run(10_000);
  expect(outputs().status()[0]?.link).toMatchObject({ kind: "down" });
  broker.publish("STATE/host", "ONLINE", true);
  await site.clock.run(2_000);
  expect(outputs().status()[0]?.link).toMatchObject({ kind: "up" });
  broker.publish("STATE/host", "OFFLINE", true);
  await site.clock.run(2_000);
  expect(rendered(outputs().status()[0]?.link)).toMatchObject({
    kind: "down",
    reason: expect.stringContaining("host") as string,
  });
});

it("a Sparkplug output accepts a host's later states even after a state dated in the future", async () => {
  const { site, broker, outputs } = virtualPlant(HOSTED);
  const say = (online: boolean, timestamp: number) =>
    broker.publish("spBv1.0/STATE/host", JSON.stringify({ online, timestamp }), true);
  await site.start();
  await site.clock.run(5_000);
  say(false, START + 365 * DAY_MS);
  await site.clock.run(2_000);
  say(true, START + 10_000);
  await site.clock.run(2_000);
  expect(outputs().status()[0]?.link).toMatchObject({ kind: "up" });
});

it("a Sparkplug output whose primary host publishes no state reports the hosts that do", async () => {
  // The virtual broker has no wildcards: the test sends what a broker would.
  const others: Parameters<BrokerSession["subscribe"]>[1][] = [];
  const { site, outputs } = virtualPlant(HOSTED, {
    session: (session) => ({
      ...session,
      subscribe(topic, heard) {
        if (topic.endsWith("/+")) others.push(heard);
        return session.subscribe(topic, heard);
      },
    }),
  });
  await site.start();
  await site.clock.run(5_000);
  expect(others).toHaveLength(2);
  for (const heard of others) heard(Buffer.from("ONLINE"), true, "spBv1.0/STATE/hosst");
  expect(rendered(outputs().status()[0]?.link)).toMatchObject({
    kind: "down",
    reason: "connected; the primary host host has published no state, but these hosts have: hosst",
  });
});

it("a Sparkplug output answers a host's rebirth command with births, without waking other tasks of the agent", async () => {
  const { site, broker, booths } = virtualPlant(sparkplugOutput());
  await site.start();
  await site.clock.run(10 * MINUTE_MS);
  const [booth] = booths();
  if (booth === undefined) throw new Error("the plant has a booth");
  let woken = 0;
  const { news } = booth.state;
  const watch = (): void =>
    void news
      .wait(new AbortController().signal)
      .then(() => (woken += 1))
      .then(watch);
  watch();
  const births = (): readonly string[] =>
    broker.events.flatMap((event) => {
      const [, , type = ""] = event.kind === "message" ? event.message.topic.split("/") : [];
      return type.endsWith("BIRTH") ? [type] : [];
    });
  // A tag that the last birth did not name also causes a birth.
  const before = births();
  expect(before.slice(0, 2)).toEqual(["NBIRTH", "DBIRTH"]);
  const metrics = [{ name: "Node Control/Rebirth", type: "Boolean", value: true }];
  broker.publish("spBv1.0/plant/NCMD/gw-1", CODEC.encodePayload({ timestamp: 1, metrics }), false);
  await site.clock.run(1_000);
  expect(births().slice(before.length)).toEqual(["NBIRTH", "DBIRTH"]);
  expect(woken).toBe(0);
});

function plant() {
  const { broker: first, brokers, ...rest } = virtualPlant(TWO_SERVERS, { urls: [URL, SECOND] });
  const [, second] = brokers;
  if (second === undefined) throw new Error("there are two brokers");
  return { ...rest, first, second };
}

function sayHost(broker: PlantBroker, online: boolean, timestamp: number): void {
  broker.publish("spBv1.0/STATE/host", JSON.stringify({ online, timestamp }), true);
}

/** Returns the types of the node's messages, in order. */
function nodeMessages({ events }: PlantBroker): readonly string[] {
  return events.flatMap((event) => {
    if (event.kind !== "message") return [];
    const [, , type = ""] = event.message.topic.split("/");
    return type.startsWith("N") ? [type] : [];
  });
}

it("a Sparkplug output continues from its cursor at the other server whenever its present server becomes unreachable", async () => {
  const { site, folder, first, second, outputs } = plant();
  for (const broker of [first, second]) sayHost(broker, true, START);
  await site.start();
  await site.clock.run(20 * MINUTE_MS);
  expect([nodeMessages(first), nodeMessages(second)]).toEqual([["NBIRTH"], []]);
  first.set("refused");
  await site.clock.run(20 * MINUTE_MS);
  expect([nodeMessages(first), nodeMessages(second)]).toEqual([["NBIRTH"], ["NBIRTH"]]);
  expect(outputs().status()[0]).toMatchObject({ url: SECOND, link: { kind: "up" } });
  first.set("open");
  second.set("refused");
  await site.clock.run(20 * MINUTE_MS);
  expect(outputs().status()[0]).toMatchObject({ url: URL, link: { kind: "up" } });
  await site.stop();
  const told = new Set([first, second].flatMap(({ events }) => devicesTold(events).map(({ key }) => key)));
  // Records of the commit at the stop are sent after the next start.
  const keys = keysRead(folder, START + 59 * MINUTE_MS);
  expect(keys.length).toBeGreaterThan(100);
  expect(keys.filter((key) => !told.has(key))).toEqual([]);
});

it.each([
  { where: "offline", state: false },
  { where: "unknown", state: null },
])(
  "a Sparkplug output sends no birth to a server where its host is $where, and connects to the next server",
  async ({ state }) => {
    const { site, first, second } = plant();
    if (state !== null) sayHost(first, state, START);
    sayHost(second, true, START);
    await site.start();
    await site.clock.run(5 * MINUTE_MS);
    expect(nodeMessages(first).filter((type) => type === "NBIRTH")).toEqual([]);
    expect(nodeMessages(second)).toEqual(["NBIRTH"]);
  },
);

it("a Sparkplug output sends a death when its host goes offline, and a birth to the server where the host is online", async () => {
  const { site, first, second } = plant();
  sayHost(first, true, START);
  await site.start();
  await site.clock.run(5 * MINUTE_MS);
  sayHost(first, false, START + 5 * MINUTE_MS);
  sayHost(second, true, START + 5 * MINUTE_MS);
  await site.clock.run(5 * MINUTE_MS);
  expect(nodeMessages(first).slice(0, 2)).toEqual(["NBIRTH", "NDEATH"]);
  expect(nodeMessages(second)).toEqual(["NBIRTH"]);
  expect(first.events.at(-1)?.kind).toBe("end");
});

it("a Sparkplug output keeps trying all servers while its host is offline everywhere, and logs each server once", async () => {
  const { site, first, second, outputs } = plant();
  sayHost(first, false, START);
  await site.start();
  await site.clock.run(30 * MINUTE_MS);
  for (const broker of [first, second]) {
    expect(nodeMessages(broker)).not.toContain("NBIRTH");
    expect(broker.events.filter(({ kind }) => kind === "open").length).toBeGreaterThan(5);
  }
  expect(rendered(outputs().status()[0]?.link)).toMatchObject({
    kind: "down",
    reason: "connected; the primary host host is not online",
  });
  expect(site.lines.filter((line) => line.startsWith("output plant is down"))).toHaveLength(2);
});
