import { expect, it } from "vitest";
import type { OutputConfig } from "../../src/config/port.ts";
import type { BrokerSession } from "../../src/outputs/port.ts";
import { hostIn, hostStateOf, isOlderState } from "../../src/outputs/rules/sparkplug.ts";
import { START } from "../support/active-site.ts";
import { virtualPlant } from "./virtual.ts";
import { DAY_MS } from "../../src/domain/time.ts";

const URL = "mqtt://127.0.0.1:1883";
const OUTPUT: OutputConfig = {
  ...({ name: "scada", url: URL, mqtt_version: "v5", max_records_per_s: 2_000 } as const),
  sparkplug: { group_id: "plant", primary_host_id: "host" },
};

it.each([
  ["ONLINE", { online: true, timestamp: null }],
  ["OFFLINE", { online: false, timestamp: null }],
  ['{"online":true,"timestamp":5}', { online: true, timestamp: 5 }],
  ["online", null],
  ['{"online":"yes","timestamp":5}', null],
])("the host state %s is read as %j", (payload, state) => {
  expect(hostStateOf(payload)).toEqual(state);
});

it.each([
  ["an older one", { last: 1_000, state: 999 }, true],
  ["a newer one", { last: 1_000, state: 1_001 }, false],
  ["any after one that is dated in the future", { last: 9 * DAY_MS, state: 2_000 }, false],
  ["any of version 2.2", { last: 1_000, state: null }, false],
  ["any after one of version 2.2", { last: null, state: 1 }, false],
])("%s of two host states counts as older: %j %s", (_, { last, state }, isOlder) => {
  const of = (timestamp: number | null) => ({ online: true, timestamp });
  expect(isOlderState(of(last), of(state), 5_000)).toBe(isOlder);
});

it("the topic of a host state of either version names the host", () => {
  expect([hostIn("spBv1.0/STATE/scada"), hostIn("STATE/scada"), hostIn("spBv1.0/G/NBIRTH/n")]).toEqual([
    ...["scada", "scada"],
    null,
  ]);
});

it("a node is born once a host of version 2.2 says ONLINE, and ends when it says OFFLINE", async () => {
  const { site, brokers, outputs } = virtualPlant(OUTPUT, [URL]);
  const [broker] = brokers;
  await site.start();
  await site.clock.run(10_000);
  expect(outputs().status()[0]?.link).toMatchObject({ kind: "down" });
  broker?.publish("STATE/host", "ONLINE", true);
  await site.clock.run(2_000);
  expect(outputs().status()[0]?.link).toMatchObject({ kind: "up" });
  broker?.publish("STATE/host", "OFFLINE", true);
  await site.clock.run(2_000);
  expect(outputs().status()[0]?.link).toMatchObject({
    kind: "down",
    reason: expect.stringContaining("host") as string,
  });
});

it("a state that is dated in the future does not lock out the host's later states", async () => {
  const { site, brokers, outputs } = virtualPlant(OUTPUT, [URL]);
  const [broker] = brokers;
  const say = (online: boolean, timestamp: number) =>
    broker?.publish("spBv1.0/STATE/host", JSON.stringify({ online, timestamp }), true);
  await site.start();
  await site.clock.run(5_000);
  say(false, START + 365 * DAY_MS);
  await site.clock.run(2_000);
  say(true, START + 10_000);
  await site.clock.run(2_000);
  expect(outputs().status()[0]?.link).toMatchObject({ kind: "up" });
});

it("a host id without any state is reported with the ids of the hosts that have one", async () => {
  // The virtual broker knows no wildcards: the test says what a broker would send for them.
  const others: Parameters<BrokerSession["subscribe"]>[1][] = [];
  const { site, outputs } = virtualPlant(OUTPUT, [URL], {
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
  expect(outputs().status()[0]?.link).toMatchObject({
    kind: "down",
    reason: "connected; the primary host host has published no state, but these hosts have: hosst",
  });
});
