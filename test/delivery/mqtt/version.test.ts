import type { Socket } from "node:net";
import { Aedes } from "aedes";
import { expect, it, onTestFinished } from "vitest";
import { createServiceTime } from "../../../src/acquisition/clock.ts";
import { createMqttLink, type MqttLink } from "../../../src/delivery/mqtt/link.ts";
import type { LinkSession } from "../../../src/delivery/port.ts";
import { until } from "../../support/eventually.ts";
import { acceptSession, accountAt, brokerOn } from "./hostile-broker.ts";
import { silentLog } from "../../support/silent-log.ts";
import { virtualClock } from "../../../simulators/virtual/clock.ts";
import { HOUR_MS } from "../../../src/domain/time.ts";

interface OldBroker {
  readonly url: string;
  /** The protocol versions of the connections, 4 for 3.1.1. */
  readonly asked: number[];
  /** The broker's reaction to a version that it doesn't accept. */
  way: "end" | "reset" | "refuse" | "silence";
  takes: readonly number[];
}

function refuse(socket: Socket, way: OldBroker["way"]): void {
  if (way === "silence") return;
  if (way === "refuse") socket.end(Buffer.from("20020001", "hex"));
  else if (way === "reset") socket.resetAndDestroy();
  else socket.end();
}

/** A real broker that accepts only some versions of the protocol. */
async function oldBroker(): Promise<OldBroker> {
  const aedes = await Aedes.createBroker();
  const broker: OldBroker & { url: string } = { url: "", asked: [], way: "end", takes: [4] };
  broker.url = await brokerOn((socket) => {
    socket.once("readable", () => {
      const first = socket.read() as Buffer;
      // The fixed header is two or three bytes; "MQTT" and its length come before the version.
      const version = first[first.indexOf("MQTT") + 4] ?? 0;
      broker.asked.push(version);
      if (!broker.takes.includes(version)) refuse(socket, broker.way);
      // After the subscription, the session sends one more message, which the test doesn't need.
      else if (version === 5) acceptSession(socket, () => socket.once("data", () => socket.destroy()));
      else {
        socket.unshift(first);
        aedes.handle(socket);
      }
    });
  });
  onTestFinished(() => new Promise<void>((resolve) => aedes.close(resolve)));
  return broker;
}

const clockOf = () => virtualClock({ wall: Date.UTC(2026, 2, 2), mono: 0 });

function linkAt(clock: ReturnType<typeof clockOf>): MqttLink {
  return createMqttLink({ clock, service_time: createServiceTime(), agentVersion: "0", log: silentLog });
}

async function connect(link: MqttLink, url: string): Promise<LinkSession["mqtt"]> {
  const session = await link.connect(accountAt(url), new AbortController().signal);
  await session.close();
  return session.mqtt;
}

it.each([
  ["end", /^since the broker closes the connection at MQTT 5; 5 is asked for again/],
  ["reset", /^since the broker closes the connection at MQTT 5/],
  ["refuse", /^$/],
] as const)(
  "a broker that does not accept MQTT 5 (%s) is connected with MQTT 3.1.1 for the next six hours",
  async (way, why) => {
    const broker = await oldBroker();
    broker.way = way;
    const clock = clockOf();
    const link = linkAt(clock);
    expect(await connect(link, broker.url)).toEqual({ version: "3.1.1", why: expect.stringMatching(why) as unknown });
    expect((await connect(link, broker.url))?.version).toBe("3.1.1");
    expect(broker.asked).toEqual([5, 4, 4]);
    await clock.run(6 * HOUR_MS);
    broker.takes = [4, 5];
    // The broker was upgraded meanwhile, and the next connect tries 5 again.
    expect(await connect(link, broker.url)).toEqual({ version: "5", why: "" });
    expect(broker.asked).toEqual([5, 4, 4, 5]);
  },
);

it("a connection to a different broker starts with MQTT 5, even if the previous broker accepted only an older version", async () => {
  const old = await oldBroker();
  const other = await oldBroker();
  other.takes = [5];
  const link = linkAt(clockOf());
  await connect(link, old.url);
  expect((await connect(link, other.url))?.version).toBe("5");
  expect(other.asked).toEqual([5]);
});

it("a broker that accepts no MQTT version is reported as such, and the next attempt starts with MQTT 5", async () => {
  const broker = await oldBroker();
  const link = linkAt(clockOf());
  await connect(link, broker.url);
  broker.takes = [];
  const trying = (): Promise<unknown> => connect(link, broker.url);
  await expect(trying()).rejects.toMatchObject({
    fault: "unanswered",
    message: "the broker accepted the connection and closed it without an answer",
  });
  broker.takes = [5];
  expect(await trying()).toEqual({ version: "5", why: "" });
  expect(broker.asked).toEqual([5, 4, 4, 5]);
});

it.each(["mqtt://broker.example:1883", "ws://10.0.0.1/mqtt", "http://127.0.0.1.example"])(
  "the credential is never sent to another machine without TLS: %s",
  async (url) => {
    await expect(connect(linkAt(clockOf()), url)).rejects.toThrow("without TLS the gateway sends no data");
  },
);

it("a stop while the broker does not answer prevents a retry with an older MQTT version or another URL", async () => {
  const broker = await oldBroker();
  Object.assign(broker, { way: "silence", takes: [] });
  const stop = new AbortController();
  const account = { ...accountAt(broker.url), ws_url: broker.url.replace("mqtt:", "ws:") };
  const connecting = linkAt(clockOf()).connect(account, stop.signal);
  const refused = expect(connecting).rejects.toThrow("stopped");
  await until(() => broker.asked.length > 0, "the broker is asked");
  stop.abort(new Error("stopped"));
  await refused;
  expect(broker.asked).toEqual([5]);
});
