import { createHash } from "node:crypto";
import { silentLog } from "../support/silent-log.ts";
import { expect, it, onTestFinished } from "vitest";
import { createHttpClient } from "../../src/delivery/http/client.ts";
import { createMqttLink } from "../../src/delivery/mqtt/link.ts";
import { seedSite } from "../../simulators/service/accounts/seed.ts";
import { startService } from "../../simulators/service/start.ts";
import { eventually } from "../support/eventually.ts";
import { laidOut, withoutChance } from "../support/golden.ts";
import { httpTap, type TappedExchange } from "./http-tap.ts";
import { mqttTap, type TappedConnect, type TappedPublish } from "./mqtt-tap.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { PROVISION_KEY, SERIAL } from "../support/virtual-service.ts";
import { unzipped } from "../support/unzipped.ts";
import { virtualSite } from "../support/virtual-site.ts";

/** Monday 2026-03-02 08:00 in Denver. */
const START = Date.UTC(2026, 2, 2, 15);
/** Longer than the 60 s until a revision is confirmed, so that the first report contains one. */
const BEFORE_MS = 75_000;
const HEADERS = ["authorization", "accept", "content-type", "idempotency-key", "if-match"];

function exchangeText({ method, path, headers, body, answer }: TappedExchange): string {
  const told = HEADERS.flatMap((name) => (headers[name] === undefined ? [] : [`${name}: ${String(headers[name])}`]));
  const sent = body === "" ? [] : [laidOut(JSON.parse(body))];
  return [`${method} ${path}`, ...told, ...sent, `-> ${answer.status}`, laidOut(JSON.parse(answer.body))].join("\n");
}

function connectText(connect: TappedConnect): string {
  const { will, ...rest } = connect;
  const last = will === null ? null : { ...will, payload: JSON.parse(will.payload.toString("utf8")) as unknown };
  return `CONNECT\n${laidOut({ ...rest, will: last })}`;
}

function publishText({ topic, qos, retain, payload }: TappedPublish): string {
  const { text, packed } = unzipped(payload);
  const how = `qos ${qos}${retain ? ", retained" : ""}${packed === null ? "" : `, ${packed}`}`;
  return `PUBLISH ${topic} (${how})\n${laidOut(JSON.parse(text))}`;
}

/**
 * Agent and service use real sockets. Virtual time stops while they exchange messages, so the messages depend only on
 * the code. The broker accepts the agent only after the booth is claimed and everything is committed.
 */
it("the first provisioning, the first batch and the first report match the golden file of the wire format", async () => {
  const gate = { http: "" };
  const site = virtualSite({
    folder: temporaryFolder(),
    scenario: "standard-cycle",
    start: START,
    unnamed: true,
    way: (clock, service_time) => {
      const http = createHttpClient({ baseUrl: gate.http });
      onTestFinished(() => http.close());
      return { http, link: createMqttLink({ clock, service_time, agentVersion: "0.0.0", log: silentLog }) };
    },
  });
  onTestFinished(() => site.close());
  const service = await startService({ dataDir: ":memory:", port: 0, mqttPort: 0, clock: site.clock });
  onTestFinished(() => service.stop());
  seedSite(service.db, { serial: SERIAL, tz: "America/Denver", provisionKey: PROVISION_KEY, now: START });
  const http = await httpTap(service.url);
  gate.http = http.url;
  const broker = await mqttTap({ target: () => service.mqttUrl, isOpen: false });
  Object.assign(service.service, { mqttUrl: () => broker.url });

  const agent = await site.start();
  await site.clock.run(BEFORE_MS);
  await agent.enterSerial("booth-1", SERIAL, { by: "alex", note: "compared with the nameplate" });
  const booth = () => agent.status().booths[0];
  await eventually("the booth is claimed", () => {
    const now = booth();
    return now?.provisioning.state === "verifying" && now.log.pending === 0 ? true : undefined;
  });
  broker.open();
  const isReadBack = ({ path }: TappedExchange): boolean => path.startsWith("/api/booths/");
  await eventually("all is acked, reported and read back", () => {
    const log = booth()?.log;
    return log?.acked_seq === log?.newest_seq && http.exchanges.some(isReadBack) ? true : undefined;
  });

  const { gateway_id, booths } = agent.status();
  const [connect] = broker.connects;
  const credential = connect?.password ?? "";
  const of = (direction: "up" | "down", topic: string): string[] =>
    broker.publishes
      .filter((publish) => publish.direction === direction && publish.topic.endsWith(topic))
      .map(publishText);
  const text = [
    ...http.exchanges.map(exchangeText),
    ...broker.connects.slice(-1).map(connectText),
    ...["/hello", "/state", "/batch"].flatMap((topic) => of("up", topic)),
    ...of("down", "/ack"),
  ].join("\n\n");
  const known = {
    [gateway_id]: "<gateway>",
    [booths[0]?.stream ?? ""]: "<stream>",
    [createHash("sha256").update(credential).digest("hex")]: "<sha256 of the credential>",
    [credential]: "<credential>",
  };
  await expect(`${withoutChance(text, known)}\n`).toMatchFileSnapshot("../golden/wire.txt");
  site.kill();
});
