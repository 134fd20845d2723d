import { once } from "node:events";
import { expect, it } from "vitest";
import { acceptSession, accountAt, brokerOn, CONNACK, impatientLink, surviveHostilePackets } from "./hostile-broker.ts";

const never = new AbortController().signal;

it("an MQTT session with a hostile broker ends without a crash, and acks no record", () => surviveHostilePackets(100));

it("an MQTT packet that announces a length of 200 MB ends the connection as soon as its header arrives", async () => {
  const endless = Buffer.concat([Buffer.from("30ffffff5f", "hex"), Buffer.alloc(1_000)]);
  const closed: Promise<unknown>[] = [];
  const url = await brokerOn((socket) => {
    closed.push(once(socket, "close"));
    socket.once("data", () => socket.write(Buffer.concat([CONNACK, endless])));
    socket.resume();
  });
  await expect(impatientLink().connect(accountAt(url), never)).rejects.toMatchObject({ fault: "protocol" });
  await Promise.all(closed);
  expect(closed).toHaveLength(1);
});

it("an MQTT session ends with the reason taken_over if another gateway with the same identity connects to the broker", async () => {
  const url = await brokerOn((socket) => {
    socket.once("data", () => acceptSession(socket, () => socket.end(Buffer.from("e0028e00", "hex"))));
  });
  const session = await impatientLink().connect(accountAt(url), never);
  expect((await session.closed).fault).toBe("taken_over");
});
