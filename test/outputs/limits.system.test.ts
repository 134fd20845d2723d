// Needs Debian packages: mosquitto, mosquitto-clients.
import { rendered } from "../../src/domain/messages/render.ts";
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { NoticeConfig, OutputConfig } from "../../src/config/port.ts";
import type { Refusal } from "../../src/delivery/mqtt/publish.ts";
import { openMqtt } from "../../src/notices/mqtt.ts";
import { brokerConnector } from "../../src/outputs/broker.ts";
import type { Message } from "../../src/outputs/port.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { plantBroker, type PlantBroker } from "./broker.ts";

/** Outputs and notices at a real broker that names its limits in CONNACK, or has access rules. */

const never = new AbortController().signal;
const WILL: Message = { topic: "plant/status", payload: "offline", qos: 1, retain: true };

async function connected(url: string, refusals: Refusal[]) {
  const connect = brokerConnector({ gateway_id: "gw-1", secret: () => "" });
  const config: OutputConfig = { name: "plant", url, mqtt_version: "v5", max_records_per_s: 100 };
  const refused = (refusal: Refusal): void => void refusals.push(refusal);
  return connect(config, { will: WILL, ignored: () => undefined, refused, signal: never });
}

/** Returns the lines "topic payload" that an independent subscriber gets. */
async function heardAt({ port }: PlantBroker): Promise<() => readonly string[]> {
  const child = spawn("stdbuf", ["-oL", "mosquitto_sub", "-p", port, "-t", "#", "-v", "-d"]);
  onTestFinished(() => void child.kill());
  let heard = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (heard += chunk));
  await eventually("it has subscribed", () => (heard.includes("Subscribed") ? true : undefined));
  return () => heard.split("\n").filter((line) => line.startsWith("plant/"));
}

it("an MQTT session of an output respects the limits in CONNACK, and skips messages that exceed them", async () => {
  const limits = "max_packet_size 300\nmax_qos 0\nretain_available false\nmax_inflight_messages 1\n";
  const broker = await plantBroker(temporaryFolder(), limits);
  const hears = await heardAt(broker);
  const refusals: Refusal[] = [];
  const session = await connected(broker.url, refusals);
  const message = (payload: string): Message => ({ topic: "plant/a", payload, qos: 1, retain: true });
  await session.send([message("first"), message("x".repeat(300)), message("second")]);
  await session.send([message("third")]);
  expect(refusals).toEqual([{ kind: "too_long", topic: "plant/a", bytes: 313, limit: 300 }]);
  const said = ["plant/a first", "plant/a second", "plant/a third"];
  await eventually("the others come", () => (hears().length === 3 ? true : undefined));
  expect(hears()).toEqual(said);
  await session.close([message("last")]);
  await eventually("the last words come", () => (hears().length === 4 ? true : undefined));
  // The will is not published after an orderly end.
  expect(hears().at(-1)).toBe("plant/a last");
});

it("an output or notice reports a topic that the broker rejects, and the MQTT session of the output continues", async () => {
  const folder = temporaryFolder();
  const acl = join(folder, "acl");
  writeFileSync(acl, "topic readwrite plant/a\ntopic read #\n");
  const broker = await plantBroker(folder, `acl_file ${acl}\n`);
  const refusals: Refusal[] = [];
  const session = await connected(broker.url, refusals);
  const message = (topic: string): Message => ({ topic, payload: "1", qos: 1, retain: false });
  await session.send([message("plant/b"), message("plant/a")]);
  expect(refusals).toEqual([{ kind: "refused", topic: "plant/b", code: 0x87 }]);
  await session.close([]);
  expect(rendered(await notify(broker.url, "plant/b", []))).toMatchObject({
    kind: "not_delivered",
    isPermanent: true,
    reason: "the broker's access rules do not allow this user to publish on plant/b",
    advice: expect.stringContaining("acl_file") as string,
  });
});

it("an output's wildcard subscription receives each message with its topic name", async () => {
  const broker = await plantBroker(temporaryFolder());
  const session = await connected(broker.url, []);
  const heard: string[] = [];
  await session.subscribe("STATE/+", (_payload, _retained, on) => void heard.push(on));
  await session.send(["STATE/a", "STATE/b"].map((topic) => ({ topic, payload: "ONLINE", qos: 1, retain: false })));
  await eventually("both come", () => (heard.length === 2 ? true : undefined));
  expect(heard).toEqual(["STATE/a", "STATE/b"]);
  await session.close([]);
});

function notify(url: string, topic: string, events: readonly object[]) {
  const config = { name: "shift", mqtt: { url, topic, mqtt_version: "v5" } } as unknown as NoticeConfig;
  const document = { id: "n1", text: "booth-1: E-stop", events, more: 0 };
  const send = openMqtt({ gateway_id: "gw-1", secret: () => "" }, config);
  return send({ id: "n1", subject: "booth-1: E-stop", text: "booth-1: E-stop\n", document }, never);
}

it("a notice that is too long for the broker is sent without its events", async () => {
  const broker = await plantBroker(temporaryFolder(), "max_packet_size 150\n");
  const hears = await heardAt(broker);
  const events = [{ what: "E-stop".repeat(30) }];
  expect(rendered(await notify(broker.url, "plant/notices", events))).toMatchObject({ kind: "delivered" });
  await eventually("it comes", () => (hears().length === 1 ? true : undefined));
  expect(hears()[0]).toBe('plant/notices {"id":"n1","text":"booth-1: E-stop","events":[],"more":1}');
  const none = await notify(broker.url, `plant/${"t".repeat(150)}`, events);
  expect(rendered(none)).toMatchObject({
    kind: "not_delivered",
    isPermanent: true,
    reason: expect.stringContaining("150") as string,
  });
});
