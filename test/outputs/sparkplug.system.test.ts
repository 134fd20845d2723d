import { render } from "../../src/domain/messages/render.ts";
import { createRequire } from "node:module";
import mqtt from "mqtt";
import { expect, onTestFinished, test } from "vitest";
import { tcpProxy } from "../../simulators/network/tcp-proxy.ts";
import { until } from "../support/eventually.ts";
import { realSite, SERIAL } from "../support/real-site.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { plantBroker } from "./broker.ts";
import { type Heard, outputOf, readingsHeld, subscriber, withOutputs } from "./plant.ts";

/** An independent codec, as a host uses. */
const payloads = (createRequire(import.meta.url)("sparkplug-payload") as { get(name: string): Codec }).get("spBv1.0");
interface Codec {
  encodePayload(payload: object): Uint8Array;
  decodePayload(bytes: Uint8Array): { readonly seq?: unknown; readonly metrics: readonly HostMetric[] };
}
interface HostMetric {
  readonly name?: string;
  readonly alias?: unknown;
  readonly timestamp: unknown;
  readonly value: unknown;
  readonly isHistorical?: boolean;
}

const GROUP = "Plant 1";
/** Records that are sent before the cursor moves. */
const MOST_UNDER_WAY = 64;
const SPEED = 360;
const AWAY_MS = 3 * 3_600_000;
const POLL = { poll: { fast: { poll_interval_ms: 15_000 }, slow: { poll_interval_ms: 60_000 } } };

/** A host application that knows the plant by births and data only. */
async function host(url: string) {
  const client = await mqtt.connectAsync(url);
  onTestFinished(() => void client.end(true));
  const names = new Map<string, Map<string, string>>();
  const told: string[] = [];
  const faults: string[] = [];
  const historical: string[] = [];
  const dead = new Set<string>();
  let seq: number | null = null;
  const births = { node: 0, device: 0, node_death: 0, device_death: 0 };
  client.on("message", (topic, bytes) => {
    const [, , type = "", , device = ""] = topic.split("/");
    if (type === "NCMD" || topic.startsWith("spBv1.0/STATE/")) return;
    const payload = payloads.decodePayload(bytes);
    if (type === "NDEATH") {
      // A session that ends in order sends its death, and in MQTT 5 also its will.
      dead.add(String(payload.metrics[0]?.value));
      births.node_death = dead.size;
      return;
    }
    const number = Number(payload.seq);
    if (type === "NBIRTH") {
      births.node += 1;
      if (number !== 0) faults.push(`NBIRTH has seq ${number}`);
      names.clear();
    } else if (seq === null || number !== (seq + 1) % 256) {
      faults.push(`${type} has seq ${number} after ${String(seq)}`);
    }
    seq = number;
    if (type === "DDEATH") births.device_death += 1;
    if (type === "DBIRTH") {
      births.device += 1;
      names.set(device, new Map(payload.metrics.map(({ name = "", alias }) => [String(alias), name])));
    }
    if (type !== "DDATA") return;
    for (const { name, alias, timestamp, value, isHistorical } of payload.metrics) {
      const known = names.get(device)?.get(String(alias));
      if (known === undefined || name !== undefined)
        faults.push(`DDATA names ${String(name ?? alias)}, which no birth did`);
      const reading = `${known?.replace(/^Tags\//, "") ?? ""} ${String(timestamp)} ${JSON.stringify(value)}`;
      if (known?.startsWith("Tags/") === true) told.push(reading);
      if (isHistorical === true) historical.push(reading);
    }
  });
  await client.subscribeAsync("spBv1.0/#", { qos: 1 });
  return { told, historical, faults, births, client };
}

/** Returns the same as the subscriber in Python received it. */
function toldInPython(heard: readonly Heard[]): readonly string[] {
  const names = new Map<number, string>();
  return heard.flatMap(({ topic, payload }) => {
    if (payload === undefined) return [];
    if (topic.includes("/DBIRTH/")) for (const { name = "", alias = -1 } of payload.metrics) names.set(alias, name);
    if (!topic.includes("/DDATA/")) return [];
    return payload.metrics.flatMap(({ alias = -1, timestamp, value = null }) => {
      const [, tag] = /^Tags\/(.+)$/.exec(names.get(alias) ?? "") ?? [];
      return tag === undefined ? [] : [`${tag} ${timestamp} ${JSON.stringify(value)}`];
    });
  });
}

test("a Sparkplug host gets every reading after an outage of 3 h, and only messages in flight twice", async () => {
  const broker = await plantBroker(temporaryFolder());
  const heard = await subscriber(broker.port);
  const plant = await host(broker.url);
  const site = await realSite({ speed: SPEED, serial: SERIAL, booth: POLL });
  const line = await tcpProxy({ target: { port: Number(broker.port) } });
  onTestFinished(() => line.close());
  const url = `mqtt://127.0.0.1:${line.port}`;
  withOutputs(site, [{ name: "plant", url, since: "2026-01-01T00:00:00Z", sparkplug: { group_id: GROUP } }]);
  const agent = site.startAgent();
  await until(() => plant.told.length > 50, "data came");
  line.faults.refuse = true;
  line.cut();
  await outputOf(site, "the output is down", ({ link }) => link.kind === "down");
  const gone = site.clock.wall();
  await until(() => site.clock.wall() > gone + AWAY_MS, "three hours went by");
  line.faults.refuse = false;
  await outputOf(site, "nothing waits any more", ({ link, booths }) => link.kind === "up" && booths[0]?.waiting === 0);
  const live = plant.told.length;
  await until(() => plant.told.length > live, "live data came");
  agent.signal("SIGTERM");
  expect(await agent.ended).toBe(0);
  await until(() => plant.births.node_death === 2, "both sessions have died");

  const held = readingsHeld(site);
  const last = held.indexOf(plant.told.at(-1) ?? "");
  const lost = held.slice(0, last + 1).filter((reading) => !plant.told.includes(reading));
  process.stdout.write(
    `${plant.told.length} told, ${plant.historical.length} of them historical, ${lost.length} lost, ` +
      `${plant.told.length - new Set(plant.told).size} twice; births ${JSON.stringify(plant.births)}\n`,
  );
  expect(plant.faults).toEqual([]);
  expect(lost).toEqual([]);
  // After a broken line, QoS 0 messages in flight may be lost, so they are sent again as historical.
  const twice = plant.told.filter((reading, index) => plant.told.indexOf(reading) < index);
  expect(twice.length).toBeLessThanOrEqual(MOST_UNDER_WAY);
  expect(twice.filter((reading) => !plant.historical.includes(reading))).toEqual([]);
  expect([...new Set(plant.told)]).toEqual(held.slice(0, last + 1));
  expect(toldInPython(heard)).toEqual(plant.told);
  // Exactly the readings taken before their session are historical.
  const back = gone + AWAY_MS;
  const timeOf = (reading: string): number => Number(reading.split(" ").at(-2));
  expect(plant.historical.filter((reading) => timeOf(reading) > gone && timeOf(reading) < back).length).toBeGreaterThan(
    100,
  );
  expect(heard.filter(({ topic, retain }) => retain && topic.startsWith("spBv1.0/"))).toEqual([]);
});

test("a Sparkplug output obeys only rebirth commands, at most one a minute, and sends nothing while its primary host is offline", async () => {
  const broker = await plantBroker(temporaryFolder());
  const plant = await host(broker.url);
  const site = await realSite({ speed: 60, serial: SERIAL, booth: POLL });
  const sparkplug = { group_id: GROUP, edge_node_id: "line-2", primary_host_id: "scada" };
  withOutputs(site, [{ name: "plant", url: broker.url, sparkplug }]);
  const say = (online: boolean, timestamp: number): Promise<unknown> =>
    plant.client.publishAsync("spBv1.0/STATE/scada", JSON.stringify({ online, timestamp }), { qos: 1, retain: true });
  const ask = (metrics: readonly object[], retain = false): Promise<unknown> =>
    plant.client.publishAsync(
      `spBv1.0/${GROUP}/NCMD/line-2`,
      Buffer.from(payloads.encodePayload({ timestamp: 1, metrics })),
      { qos: 0, retain },
    );
  const rebirth = [{ name: "Node Control/Rebirth", type: "Boolean", value: true }];
  site.startAgent();
  await outputOf(
    site,
    "it waits for its host",
    ({ link }) => link.kind === "down" && render(link.reason).includes("scada"),
  );
  expect(plant.births).toMatchObject({ node: 0, device: 0 });
  await say(true, 1_000);
  await until(() => plant.births.device > 0, "the booth was born");
  const born = plant.births.node;

  await ask([{ name: "Node Control/Reboot", type: "Boolean", value: true }]);
  await ask([...rebirth, { name: "Outputs/fan", type: "Boolean", value: true }]);
  await ask([{ name: "Node Control/Rebirth", type: "Boolean", value: false }]);
  await ask([{ name: "x".repeat(5_000), type: "String", value: "y" }]);
  await plant.client.publishAsync(`spBv1.0/${GROUP}/NCMD/line-2`, Buffer.from([0xff, 0xff, 0xff]));
  await outputOf(site, "five are counted", ({ ignored }) => ignored === 5);
  expect(plant.births.node).toBe(born);
  await ask(rebirth);
  await until(() => plant.births.node === born + 1, "node and device are born again");
  // The booth's minute is a second here; two of three requests at once are too soon.
  await Promise.all([ask(rebirth), ask(rebirth), ask(rebirth)]);
  await outputOf(site, "those too soon are counted", ({ ignored }) => ignored >= 7);

  // An older state that arrives late is ignored.
  await say(false, 500);
  await say(false, 2_000);
  await until(() => plant.births.node_death === 1, "the node says that it is dead");
  const told = plant.told.length;
  await outputOf(site, "it waits again", ({ link }) => link.kind === "down" && render(link.reason).includes("scada"));
  await outputOf(site, "records wait", ({ booths }) => (booths[0]?.waiting ?? 0) > 10);
  expect(plant.told.length).toBe(told);
  await say(true, 3_000);
  await outputOf(site, "it is told all", ({ link, booths }) => link.kind === "up" && booths[0]?.waiting === 0);
  expect(plant.faults).toEqual([]);
});
