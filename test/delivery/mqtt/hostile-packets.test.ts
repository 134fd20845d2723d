import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { accountAt, impatientLink, surviveHostilePackets } from "./hostile-broker.ts";

it("a session with a hostile broker ends in order and acks nothing", () => surviveHostilePackets(100));

it("a packet that announces 200 MB ends the connection at its header", async () => {
  const connack = Buffer.from("2003000000", "hex");
  const endless = Buffer.concat([Buffer.from("30ffffff5f", "hex"), Buffer.alloc(1_000)]);
  const closed: Promise<unknown>[] = [];
  const server = createServer((socket: Socket) => {
    socket.on("error", () => socket.destroy());
    closed.push(once(socket, "close"));
    socket.once("data", () => socket.write(Buffer.concat([connack, endless])));
    socket.resume();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const url = `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await expect(impatientLink().connect(accountAt(url), new AbortController().signal)).rejects.toMatchObject({
    fault: "protocol",
  });
  await Promise.all(closed);
  expect(closed).toHaveLength(1);
});

it("a session ends as taken over if the broker gives the identity to another box", async () => {
  const server = createServer((socket: Socket) => {
    socket.on("error", () => socket.destroy());
    socket.once("data", () => {
      socket.write(Buffer.from("2003000000", "hex"));
      socket.once("data", (subscribe) => {
        socket.write(Buffer.from([0x90, 0x04, subscribe[2] ?? 0, subscribe[3] ?? 0, 0, 1]));
        socket.end(Buffer.from("e0028e00", "hex"));
      });
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const url = `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const session = await impatientLink().connect(accountAt(url), new AbortController().signal);
  expect((await session.closed).fault).toBe("taken_over");
});
