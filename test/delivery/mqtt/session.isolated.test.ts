import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Aedes } from "aedes";
import { expect, it, onTestFinished } from "vitest";
import { createServiceTime } from "../../../src/acquisition/clock.ts";
import { createMqttLink, type MqttLink } from "../../../src/delivery/mqtt/link.ts";
import { systemClock } from "../../../src/runtime/clock.ts";
import { acceptSession, accountAt, brokerOn, CONNACK } from "./hostile-broker.ts";
import { connecting, deafPort } from "../../support/deaf-port.ts";
import { until } from "../../support/eventually.ts";
import { silentLog } from "../../support/silent-log.ts";

function link(connect_timeout_ms = 10_000): MqttLink {
  return createMqttLink({
    connect_timeout_ms,
    clock: systemClock(),
    service_time: createServiceTime(),
    agentVersion: "0",
    log: silentLog,
  });
}

setFlagsFromString("--expose_gc");
const collect = runInNewContext("gc") as () => void;

/** Returns the bytes in use after a full garbage collection. */
function inUse(): number {
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

it("an MQTT session keeps no sent messages in memory, however many it sends", async () => {
  const broker = await Aedes.createBroker();
  onTestFinished(() => new Promise<void>((resolve) => broker.close(resolve)));
  const url = await brokerOn((socket) => broker.handle(socket));
  const session = await link().connect(accountAt(url), new AbortController().signal);
  const send = async (count: number): Promise<void> => {
    for (let sent = 0; sent < count; sent += 1) await session.hello([]);
  };
  await send(1_500);
  const before = inUse();
  await send(4_000);
  // A heartbeat a minute and a batch every ten seconds are 10,000 messages a day. At 100 bytes each, that is 30 MB in a
  // month.
  expect((inUse() - before) / 4_000).toBeLessThan(100);
  await session.close();
});

it("stopping the MQTT link does not wait for a broker that never answers the subscription", async () => {
  const stopping = new AbortController();
  const url = await brokerOn((socket) => {
    socket.once("data", () => {
      socket.write(CONNACK);
      socket.once("data", () => stopping.abort(new Error("stopped")));
    });
  });
  // It rejects at once. Otherwise the subscription's deadline would reject it after ten seconds with another fault.
  await expect(link().connect(accountAt(url), stopping.signal)).rejects.toMatchObject({ fault: "closed" });
});

it.each(["mqtt:", "mqtts:", "ws:", "wss:"])(
  "stopping the MQTT link does not wait for a broker that does not accept the connection over %s",
  async (way) => {
    const url = `${way}//127.0.0.1:${await deafPort()}`;
    const stopping = new AbortController();
    const before = connecting();
    const outcome = link(600_000)
      .connect(accountAt(url), stopping.signal)
      .catch((error: unknown) => error);
    await until(() => connecting() === before + 1, "the connection is begun");
    stopping.abort(new Error("stopped"));
    expect(await outcome).toMatchObject({ message: "stopped" });
    await until(() => connecting() === before, "nothing is left of it");
  },
);

it.each(["mqtt:", "mqtts:", "ws:"])(
  "a broker that accepts no connection in time is reported as unreachable over %s",
  async (way) => {
    const url = `${way}//127.0.0.1:${await deafPort()}`;
    await expect(link(200).connect(accountAt(url), new AbortController().signal)).rejects.toMatchObject({
      fault: "unreachable",
    });
  },
);

it("the end of an MQTT session rejects all unconfirmed messages and every later message", async () => {
  const url = await brokerOn((socket) => {
    socket.once("data", () => acceptSession(socket, () => socket.once("data", () => socket.destroy())));
  });
  const session = await link().connect(accountAt(url), new AbortController().signal);
  const outcomes = await Promise.allSettled([session.hello([]), session.hello([])]);
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  await expect(session.hello([])).rejects.toMatchObject({ fault: "closed" });
  expect((await session.closed).fault).toBe("closed");
});
