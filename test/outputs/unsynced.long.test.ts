import { expect, it } from "vitest";
import type { OutputConfig } from "../../src/config/port.ts";
import { CODEC, type HostMetric } from "../simulation/outputs/plant.ts";
import type { PlantBroker } from "../simulation/outputs/broker.ts";
import { START } from "../support/active-site.ts";
import { keysRead, PLAIN, sparkplugOutput, virtualPlant } from "./virtual.ts";
import { keyOf } from "../simulation/laws/told.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

/** Starts a gateway without a service, whose kernel has no time source. */
async function unsyncedPlant(config: OutputConfig) {
  const plant = virtualPlant(config);
  plant.site.clock.setSynced(false);
  plant.site.service.way.down = true;
  await plant.site.start();
  await plant.site.clock.run(4 * MINUTE_MS);
  return plant;
}

interface Said {
  readonly topic: string;
  readonly value: unknown;
  readonly quality: string;
  readonly time: string;
}

function plainSaid({ events }: PlantBroker): readonly Said[] {
  return events.flatMap((event) => {
    if (event.kind !== "message" || event.message.topic.endsWith("/status")) return [];
    const { topic, payload } = event.message;
    return [{ topic, ...(JSON.parse(payload.toString()) as Omit<Said, "topic">) }];
  });
}

it("a plain MQTT output publishes live values as uncertain while the clock is unconfirmed", async () => {
  const { broker, booths, site } = await unsyncedPlant(PLAIN);
  const said = plainSaid(broker);
  const tags = said.filter(({ topic }) => topic.includes("/tags/"));
  expect(tags.length).toBeGreaterThan(20);
  expect(said.filter(({ quality }) => quality === "good")).toEqual([]);
  const mode = booths()[0]
    ?.readings()
    .find(({ tag }) => tag === "mode");
  expect(tags.findLast(({ topic }) => topic.endsWith("/mode"))?.value).toBe(mode?.value);
  const waiting = said.findLast(({ topic }) => topic.endsWith("/clock_waiting_records"));
  expect(waiting?.value).toBeGreaterThan(20);
  expect(site.control().status().booths[0]?.log.waiting_for_clock).toBeGreaterThan(20);
});

it("a plain MQTT output publishes current values again once the clock is confirmed, but no earlier readings", async () => {
  const { broker, booths, site, folder } = await unsyncedPlant(PLAIN);
  const before = plainSaid(broker).length;
  site.clock.stepWall(90 * MINUTE_MS);
  site.clock.setSynced(true);
  await site.clock.run(2 * MINUTE_MS);
  const said = plainSaid(broker);
  const again = said.slice(before);
  const names = booths()[0]
    ?.readings()
    .map(({ tag }) => `booths/booth-1/tags/${tag}`);
  expect(names?.filter((name) => !again.some(({ topic }) => topic === name))).toEqual([]);
  const last = new Map(said.map((one) => [one.topic, one]));
  expect([...last.values()].filter(({ quality }) => quality !== "good")).toEqual([]);
  expect(last.get("booths/booth-1/figures/clock_waiting_records")?.value).toBe(0);
  // Readings that were sent with an unconfirmed time are not sent again with the confirmed one.
  const confirmed_at = START + 4 * MINUTE_MS + 90 * MINUTE_MS;
  const corrected = new Set(keysRead(folder, confirmed_at - MINUTE_MS));
  const keys = again.map(({ topic, value, time }) => {
    return keyOf({ tag: topic.split("/").at(-1) ?? "", time: Date.parse(time), value: JSON.stringify(value) });
  });
  expect(corrected.size).toBeGreaterThan(20);
  expect(keys.filter((key) => corrected.has(key))).toEqual([]);
});

/** Returns the metrics of births and data by name, in order. */
function sparkplugSaid({ events }: PlantBroker): readonly (HostMetric & { readonly type: string })[] {
  const names = new Map<string, string>();
  return events.flatMap((event) => {
    if (event.kind !== "message") return [];
    const [, , of = ""] = event.message.topic.split("/");
    if (of !== "DBIRTH" && of !== "DDATA") return [];
    const { metrics } = CODEC.decodePayload(Buffer.from(event.message.payload));
    return metrics.map((metric) => {
      if (metric.name !== undefined && metric.name !== "") names.set(String(metric.alias), metric.name);
      return { ...metric, name: names.get(String(metric.alias)) ?? "", type: of };
    });
  });
}

it("a Sparkplug output publishes live values with Clock/Confirmed false, and sends a birth once the clock is confirmed", async () => {
  const { broker, site } = await unsyncedPlant(sparkplugOutput());
  const clockOf = () => sparkplugSaid(broker).filter(({ name }) => name === "Clock/Confirmed");
  const data = sparkplugSaid(broker).filter(({ name, type }) => type === "DDATA" && name?.startsWith("Tags/"));
  expect(data.length).toBeGreaterThan(20);
  expect(clockOf().at(-1)?.value).toBe(false);
  const births = clockOf().filter(({ type }) => type === "DBIRTH").length;
  site.clock.setSynced(true);
  await site.clock.run(2 * MINUTE_MS);
  expect(clockOf().at(-1)?.value).toBe(true);
  expect(clockOf().filter(({ type }) => type === "DBIRTH").length).toBe(births + 1);
});
