import { expect, it } from "vitest";
import { createServiceTime } from "../../../src/acquisition/clock.ts";
import { connectOnce } from "../../../src/delivery/mqtt/dial.ts";
import { createMqttLink } from "../../../src/delivery/mqtt/link.ts";
import { pingEveryMs, brokerSession } from "../../../src/delivery/mqtt/session.ts";
import { systemClock } from "../../../src/runtime/clock.ts";
import { until } from "../../support/eventually.ts";
import { silentLog } from "../../support/silent-log.ts";
import { accountAt, brokerOn, CONNACK, subackTo } from "./hostile-broker.ts";

/** DISCONNECT of MQTT 5, with reason code 0 and no properties: the broker drops the will. */
const DISCONNECT = Buffer.of(0xe0, 2, 0, 0).toString("hex");

/** Starts a broker that accepts the connection and the subscription, and confirms nothing after that. */
async function muteBroker() {
  const came: Buffer[] = [];
  const url = await brokerOn((socket) => {
    socket.on("data", (bytes) => {
      came.push(bytes);
      if (bytes.readUInt8(0) === 0x10) socket.write(CONNACK);
      if (bytes.readUInt8(0) === 0x82) socket.write(subackTo(bytes));
    });
  });
  return { url, hex: () => Buffer.concat(came).toString("hex") };
}

const never = new AbortController().signal;

it("an MQTT session of an output or a notice ends with DISCONNECT even if the broker confirms no messages", async () => {
  const { url, hex } = await muteBroker();
  const will = { topic: "gone", payload: Buffer.from("offline"), qos: 1, retain: true } as const;
  const connected = await connectOnce({ url, client_id: "c", protocol: 5, own_pings: true, will }, never);
  const session = brokerSession(connected, { ignored: () => undefined, refused: () => undefined });
  const message = { topic: "a", payload: "unconfirmed", qos: 1, retain: false } as const;
  const sent = expect(session.send([message])).rejects.toMatchObject({ name: "ServiceLinkError" });
  await until(() => hex().includes(Buffer.from("unconfirmed").toString("hex")), "the message came");
  await session.close([{ ...message, payload: "last" }]);
  await until(() => hex().endsWith(DISCONNECT), "DISCONNECT came");
  expect(hex()).toContain(Buffer.from("last").toString("hex"));
  await sent;
});

it("an MQTT session with the service ends with DISCONNECT even if the broker confirms nothing", async () => {
  const { url, hex } = await muteBroker();
  const link = createMqttLink({
    clock: systemClock(),
    service_time: createServiceTime(),
    agentVersion: "0",
    log: silentLog,
  });
  const session = await link.connect(accountAt(url), never);
  await session.close();
  await until(() => hex().endsWith(DISCONNECT), "DISCONNECT came");
});

it.each([
  [0, 20_000],
  [30, 15_000],
  [10, 5_000],
  [600, 20_000],
])("an MQTT session whose broker sets a keep-alive of %i s sends a ping every %i ms", (keep_alive_s, every_ms) => {
  expect(pingEveryMs(keep_alive_s)).toBe(every_ms);
});
