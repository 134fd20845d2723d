import { expect, it } from "vitest";
import type { OutputConfig } from "../../src/config/port.ts";
import { devicesTold } from "../simulation/laws/sparkplug.ts";
import type { PlantBroker } from "../simulation/outputs/broker.ts";
import { START } from "../support/active-site.ts";
import { keysRead, virtualPlant } from "./virtual.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

const FIRST = "mqtt://127.0.0.1:1883";
const SECOND = "mqtt://127.0.0.1:1884";
const OUTPUT: OutputConfig = {
  ...({ name: "scada", url: FIRST, mqtt_version: "v5", max_records_per_s: 2_000 } as const),
  since: new Date(START - MINUTE_MS).toISOString(),
  sparkplug: { group_id: "plant", primary_host_id: "host", more_urls: [SECOND] },
};

function plant() {
  const { brokers, ...rest } = virtualPlant(OUTPUT, [FIRST, SECOND]);
  const [first, second] = brokers;
  if (first === undefined || second === undefined) throw new Error("there are two brokers");
  return { ...rest, first, second };
}

function sayHost(broker: PlantBroker, online: boolean, timestamp: number): void {
  broker.publish("spBv1.0/STATE/host", JSON.stringify({ online, timestamp }), true);
}

/** Types of the node's messages, in order. */
function nodeMessages({ events }: PlantBroker): readonly string[] {
  return events.flatMap((event) => {
    if (event.kind !== "message") return [];
    const [, , type = ""] = event.message.topic.split("/");
    return type.startsWith("N") ? [type] : [];
  });
}

it("a Sparkplug output continues from its cursor at the next server if the first is gone, and returns", async () => {
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
  expect(outputs().status()[0]).toMatchObject({ url: FIRST, link: { kind: "up" } });
  await site.stop();
  const told = new Set([first, second].flatMap(({ events }) => devicesTold(events).map(({ key }) => key)));
  // What was committed at the stop is told at the next start.
  const keys = keysRead(folder, START + 59 * MINUTE_MS);
  expect(keys.length).toBeGreaterThan(100);
  expect(keys.filter((key) => !told.has(key))).toEqual([]);
});

it.each([
  { where: "offline", state: false },
  { where: "unknown", state: null },
])(
  "a Sparkplug output looks for the host at the next server if it is $where, and sends nothing before",
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

it("a Sparkplug output sends a death if the host goes offline, and births at the server where it is online", async () => {
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

it("a Sparkplug output tries all servers if the host is at none, and logs each server once", async () => {
  const { site, first, second, outputs } = plant();
  sayHost(first, false, START);
  await site.start();
  await site.clock.run(30 * MINUTE_MS);
  for (const broker of [first, second]) {
    expect(nodeMessages(broker)).not.toContain("NBIRTH");
    expect(broker.events.filter(({ kind }) => kind === "open").length).toBeGreaterThan(5);
  }
  expect(outputs().status()[0]?.link).toMatchObject({
    kind: "down",
    reason: "connected; the primary host host isn't online",
  });
  expect(site.lines.filter((line) => line.startsWith("output scada is down"))).toHaveLength(2);
});
