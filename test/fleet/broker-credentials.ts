import { setTimeout as sleep } from "node:timers/promises";
import mqtt, { type MqttClient } from "mqtt";
import { expect, it, onTestFinished } from "vitest";
import { hashOf } from "../../simulators/service/accounts/keys.ts";
import { eventually } from "../support/eventually.ts";
import { ofTest, temporaryFolder } from "../support/temporary.ts";
import { testAuthority } from "../support/tls-files.ts";
import { freePort } from "../system/mosquitto.ts";
import { servicePart } from "./parts.ts";
import { BROKER_PASSWORD, type ShippedBroker } from "./shipped-brokers.ts";

type MakeBroker = (made: {
  readonly folder: string;
  readonly name: string;
  readonly authority: ReturnType<typeof testAuthority>;
  readonly atEnd: typeof ofTest;
}) => Promise<ShippedBroker>;

/** Time within which a revoked gateway must lose its session. */
const REVOKED_WITHIN_MS = 60_000;
/** Time within which a broker must know a credential that was used over HTTP. */
const KNOWN_WITHIN_MS = 60_000;

/** A service over one broker with the shipped configuration, and the requests of a gateway. */
async function site(make: MakeBroker) {
  const folder = temporaryFolder();
  const authority = testAuthority(folder, "authority");
  const broker = await make({ folder, name: "broker", authority, atEnd: ofTest });
  const data = `${folder}/service`;
  const port = await freePort();
  const named = ["--broker", broker.url.replace("//", "//service@")];
  const keys = ["--serial", "FLEET-1", "--api-key", "first", "--admin-key", "admin"];
  const env = { BROKER_PASSWORD, NODE_EXTRA_CA_CERTS: authority.ca_file };
  const service = servicePart(
    "service",
    ["--data", data, "--port", port.toString(), ...named, ...keys, ...broker.httpOptions],
    {
      atEnd: ofTest,
      env,
    },
  );
  const users = broker.usersOf(["--data", data]);
  await users.start();
  await broker.start();
  await service.start();
  const call = async (method: string, path: string, { key, body }: { key: string; body?: unknown }) => {
    const text = body === undefined ? {} : { body: JSON.stringify(body) };
    const headers = { authorization: key, ...(body === undefined ? {} : { "content-type": "application/json" }) };
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers, ...text });
    return { status: answer.status, body: await answer.json().catch((): unknown => null) };
  };
  const connect = async (username: string, password: string): Promise<MqttClient> => {
    const own = { username, password, clientId: username, reconnectPeriod: 0, protocolVersion: 4 } as const;
    const client = await mqtt.connectAsync(broker.url, { ...own, ca: authority.ca }, false);
    onTestFinished(() => client.endAsync(true));
    return client;
  };
  /** Connects once the broker knows the credential. */
  const connectSoon = (username: string, password: string): Promise<MqttClient> =>
    eventually(
      "the broker knows the credential",
      () => connect(username, password).catch(() => sleep(500).then(() => undefined)),
      KNOWN_WITHIN_MS,
    );
  return { broker, call, connect, connectSoon, service };
}

const RECORD = "/api/booths_provisioning/FLEET-1";

/** Proves that gateways connect with their own credentials to a broker with the shipped configuration. */
export function brokerCredentials(name: string, make: MakeBroker): void {
  it(`a gateway opens a session at ${name} with the credential that it made itself, with another one after a rotation, and none after a revocation`, async () => {
    const { call, connect, connectSoon } = await site(make);
    const gateway = { id: "gw-1", credential_sha256: hashOf("own credential") };
    const claim = { serial_number: "FLEET-1", gateway, stream_id: "stream-1", intent: "claim" };
    expect((await call("POST", "/api/booths_provisioning", { key: "first", body: claim })).status).toBe(201);
    expect((await call("GET", RECORD, { key: "own credential" })).status).toBe(200);
    const first = await connectSoon("gw-1", "own credential");
    const heard: string[] = [];
    first.on("message", (topic) => heard.push(topic));
    await first.subscribeAsync("bg/v1/gw-1/down/#", { qos: 1 });
    // A gateway repeats a batch that gets no ack.
    await eventually("the service answers over the broker", async () => {
      await first.publishAsync("bg/v1/gw-1/up/batch", "{}", { qos: 1 });
      return heard.length > 0 ? true : sleep(500).then(() => undefined);
    });
    await expect(connect("gw-1", "another")).rejects.toThrow(/not authorized|bad user ?name/i);

    const rotation = { gateway_id: "gw-1", generation: 1, credential_sha256: hashOf("next credential") };
    expect((await call("PUT", RECORD, { key: "own credential", body: rotation })).status).toBe(200);
    expect((await call("GET", RECORD, { key: "next credential" })).status).toBe(200);
    const second = await connectSoon("gw-1", "next credential");

    const { body } = await call("GET", "/api/api_keys?limit=100", { key: "admin" });
    const listed = (body as { data: { id: string; scope: string; created_at: string }[] }).data;
    for (const { id } of listed.filter(({ scope }) => scope === "gateway"))
      expect((await call("DELETE", `/api/api_keys/${id}`, { key: "admin" })).status).toBe(204);
    await eventually("the broker ends the session", () => (second.connected ? undefined : true), REVOKED_WITHIN_MS);
    await expect(connect("gw-1", "next credential")).rejects.toThrow(/not authorized|bad user ?name/i);
  });

  it(`a gateway can use only its own topics at ${name}`, async () => {
    const { call, connectSoon, connect } = await site(make);
    const gateway = { id: "gw-1", credential_sha256: hashOf("own credential") };
    const claim = { serial_number: "FLEET-1", gateway, stream_id: "stream-1", intent: "claim" };
    await call("POST", "/api/booths_provisioning", { key: "first", body: claim });
    await call("GET", RECORD, { key: "own credential" });
    const service = await connect("service", BROKER_PASSWORD);
    const heard: string[] = [];
    service.on("message", (topic) => heard.push(topic));
    await service.subscribeAsync("bg/v1/#", { qos: 1 });
    const foreign: string[] = [];
    /** Does something in a session of its own, because some brokers end a session that does something forbidden. */
    const attempt = async (act: (client: MqttClient) => Promise<unknown>): Promise<void> => {
      const client = await connectSoon("gw-1", "own credential");
      client.on("message", (topic) => foreign.push(topic));
      const closed = new Promise<void>((resolve) => client.once("close", () => resolve()));
      await Promise.race([act(client).catch(() => undefined), closed]);
    };
    await attempt((client) => client.subscribeAsync("bg/v1/gw-2/down/#", { qos: 1 }));
    await service.publishAsync("bg/v1/gw-2/down/cmd", "{}", { qos: 1 });
    for (const topic of ["bg/v1/gw-2/up/batch", "bg/v1/gw-1/down/cmd", "other"])
      await attempt((client) => client.publishAsync(topic, "{}", { qos: 1 }));
    await attempt((client) => client.publishAsync("bg/v1/gw-1/up/last", "{}", { qos: 1 }));
    await eventually("the last message arrives", () => (heard.includes("bg/v1/gw-1/up/last") ? true : undefined));
    expect(foreign).toEqual([]);
    expect(heard).toEqual(["bg/v1/gw-2/down/cmd", "bg/v1/gw-1/up/last"]);
  });
}
