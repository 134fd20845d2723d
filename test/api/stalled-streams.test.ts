import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { connect as connectHttp2, createServer as createHttp2, type Http2Server } from "node:http2";
import { type AddressInfo, connect, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { keepRoom } from "../../src/api/crowd.ts";
import { createLiveFeed } from "../../src/api/live.ts";
import type { Answering } from "../../src/api/over-tls.ts";
import { STALLED_MS } from "../../src/api/stalls.ts";
import type { AgentControl } from "../../src/domain/agent-control.ts";
import type { AgentStatus } from "../../src/domain/status.ts";
import { eventually } from "../support/eventually.ts";
import { sendRaw } from "../support/raw-http.ts";

/** More than the buffers of both kernels. */
const LARGE = Buffer.alloc(24_000_000, "x");
const ASK = Buffer.from("GET /small HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");

/** A clock that the test moves; it also calls the server's watch. */
function virtualWatch() {
  let now = 0;
  let act = (): void => undefined;
  return {
    watch: {
      mono: () => now,
      repeat: (looked: () => void) => {
        act = looked;
        return () => (act = () => undefined);
      },
    },
    pass: (ms: number) => {
      for (const end = now + ms; now < end;) {
        now += 1_000;
        act();
      }
    },
  };
}

async function listening(server: Server | Http2Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

async function opened(port: number, from: string): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", localAddress: from });
  socket.on("error", () => undefined);
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  return socket;
}

describe("a server with a limited number of connections", () => {
  async function boundedServer(room: { readonly total: number; readonly each: number }) {
    const { watch, pass } = virtualWatch();
    const running: Answering[] = [];
    const server = createServer((request, response) => {
      if (request.url === "/small") {
        response.end("small");
        return;
      }
      running.push(response);
      response.writeHead(200);
      response.write(LARGE);
    });
    keepRoom(server, room, watch);
    const port = await listening(server);
    onTestFinished(() => server.closeAllConnections());
    /** Opens a connection whose answer is not read. */
    const stalled = async (from: string): Promise<Socket> => {
      const before = running.length;
      const socket = await opened(port, from);
      socket.write("GET /large HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
      await eventually("the answer has begun", () => (running.length > before ? true : undefined));
      pass(1_000);
      return socket;
    };
    const hasEnded = (socket: Socket): Promise<true> => {
      socket.resume();
      return eventually("the connection ends", () => (socket.closed ? true : undefined));
    };
    return { port, pass, stalled, hasEnded, running };
  }

  it("accepts a new client if every connection is stalled, and closes the connection that stalled longest", async () => {
    const { port, pass, stalled, hasEnded, running } = await boundedServer({ total: 8, each: 4 });
    const crowd: Socket[] = [];
    for (let nth = 0; nth < 8; nth += 1) crowd.push(await stalled(`127.0.0.${2 + (nth % 2)}`));
    pass(5_000);
    expect((await sendRaw(port, ASK)).status).toBe(200);
    const [first, ...others] = crowd;
    if (first !== undefined) await hasEnded(first);
    expect(others.filter(({ closed }) => closed)).toEqual([]);
    expect(running.filter((response) => response.writableLength > 0)).toHaveLength(7);
  });

  it("accepts another connection from the same sender if all of that sender's connections are stalled", async () => {
    const { port, pass, stalled } = await boundedServer({ total: 8, each: 2 });
    await stalled("127.0.0.2");
    await stalled("127.0.0.2");
    pass(5_000);
    expect((await sendRaw(port, ASK, "127.0.0.2")).status).toBe(200);
  });

  it("closes a stream that the client has not read for 30 s, and keeps a stream that its client reads", async () => {
    const { pass, stalled, hasEnded, running } = await boundedServer({ total: 8, each: 4 });
    const unread = await stalled("127.0.0.2");
    const read = await stalled("127.0.0.3");
    read.resume();
    await eventually("the other answer is read", () => (running[1]?.writableLength === 0 ? true : undefined));
    pass(STALLED_MS - 2_000);
    expect([unread.closed, running[0]?.writableLength]).toEqual([false, expect.any(Number)]);
    pass(2_000);
    await hasEnded(unread);
    expect([read.closed, running[1]?.writableLength]).toEqual([false, 0]);
  });

  it("rejects another connection from a sender at the limit if the sender reads all of its streams", async () => {
    const { port, pass, stalled, running } = await boundedServer({ total: 2, each: 2 });
    for (let nth = 0; nth < 2; nth += 1) (await stalled("127.0.0.2")).resume();
    await eventually("both are read", () => running.every(({ writableLength }) => writableLength === 0) || undefined);
    pass(5_000);
    expect((await sendRaw(port, ASK, "127.0.0.2")).status).toBe(0);
    // Bytes in a peer's kernel look as if they were read, so another sender is still let in.
    expect((await sendRaw(port, ASK, "127.0.0.3")).status).toBe(200);
  });
});

describe("the live event feed of the page", () => {
  /** Over HTTP/2 a stream that is not read stops after its window of 64 KiB. */
  const EVENT = "x".repeat(66_000);
  const STATUS = { booths: [], at: 0, config_refused: EVENT } as unknown as AgentStatus;
  const CONTROL = {} as unknown as AgentControl;

  async function liveServer() {
    let now = 0;
    const feed = createLiveFeed(
      CONTROL,
      () => STATUS,
      () => now,
    );
    onTestFinished(() => feed.close());
    const server = createHttp2((request, response) => {
      const sender = String(request.headers["sender"]);
      const view = { sender, booth: null, said: false, sees: () => "status" as const };
      if (feed.attach(response, view)) return;
      response.writeHead(503);
      response.end();
    });
    const port = await listening(server);
    const page = async (sender: string, isRead: boolean) => {
      const session = connectHttp2(`http://127.0.0.1:${port}`);
      onTestFinished(() => session.destroy());
      const stream = session.request({ ":path": "/events", sender });
      stream.on("error", () => undefined);
      const [head] = (await once(stream, "response")) as [Record<string, unknown>];
      if (isRead) stream.resume();
      return { stream, status: head[":status"] };
    };
    return { page, pass: (ms: number) => (now += ms) };
  }

  it("accepts a new page if all streams are stalled, and closes the stream that stalled longest", async () => {
    const { page, pass } = await liveServer();
    const pages: Awaited<ReturnType<typeof page>>[] = [];
    for (let nth = 0; nth < 24; nth += 1) {
      pages.push(await page(`client-${nth % 4}`, false));
      pass(100);
    }
    pass(2_000);
    expect((await page("newcomer", true)).status).toBe(200);
    await eventually("the oldest page ends", () => (pages[0]?.stream.closed === true ? true : undefined));
    expect(pages.filter(({ stream }) => stream.closed)).toHaveLength(1);
  });

  it("closes the stream of a page that reads nothing for 30 s", async () => {
    const { page, pass } = await liveServer();
    const unread = await page("a", false);
    const read = await page("b", true);
    pass(STALLED_MS);
    await eventually("the unread page ends", () => (unread.stream.closed ? true : undefined));
    expect(read.stream.closed).toBe(false);
  });

  it("rejects a further page from a sender who already has 20 pages that read their streams", async () => {
    const { page } = await liveServer();
    for (let nth = 0; nth < 20; nth += 1) expect((await page("one", true)).status).toBe(200);
    expect((await page("one", true)).status).toBe(503);
    expect((await page("another", true)).status).toBe(200);
  });
});
