import { createServer, type Server } from "node:http";
import { connect, createServer as createTcp, type AddressInfo, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { createHttpClient, HttpClosed, type HttpClientOptions } from "../../../src/delivery/http/client.ts";
import { connecting, deafPort } from "../../support/deaf-port.ts";
import { until } from "../../support/eventually.ts";

const get = { method: "GET", path: "/api/x", key: "k" } as const;

function client(options: HttpClientOptions) {
  const made = createHttpClient(options);
  onTestFinished(() => made.close());
  return made;
}

async function listening(server: Server | ReturnType<typeof createTcp>): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

it("the HTTP client rejects an answer over 1 MiB, and reads at most 64 KiB of an error's body", async () => {
  const port = await listening(
    createServer((request, response) => {
      response.writeHead(request.url === "/api/x" ? 200 : 503).end("x".repeat(2_000_000));
    }),
  );
  const http = client({ baseUrl: `http://127.0.0.1:${port}` });
  await expect(http.send(get)).rejects.toThrow("larger than 1048576 bytes");
  const failed = await http.send({ ...get, path: "/api/y" });
  expect(failed.status).toBe(503);
  expect(failed.text.length).toBeLessThanOrEqual(65_536);
});

it("an HTTP request to a server that never answers fails after the total timeout", async () => {
  const port = await listening(createTcp(() => undefined));
  const http = client({ baseUrl: `http://127.0.0.1:${port}`, total_timeout_ms: 50 });
  await expect(http.send(get)).rejects.toMatchObject({ name: "AbortError" });
});

it("closing the HTTP client ends running and waiting requests, and rejects later requests", async () => {
  let connections = 0;
  const port = await listening(createTcp(() => void (connections += 1)));
  const http = client({ baseUrl: `http://127.0.0.1:${port}` });
  const hanging = Array.from({ length: 8 }, () => http.send(get).catch((error: unknown) => error));
  await until(() => connections === 2, "both connections are made");
  http.close();
  for (const outcome of await Promise.all(hanging)) expect(outcome).toBeInstanceOf(HttpClosed);
  await expect(http.send(get)).rejects.toBeInstanceOf(HttpClosed);
  expect(connections).toBe(2);
});

it.each([
  ["a service", (address: string) => ({ baseUrl: `http://${address}` })],
  ["a service with TLS", (address: string) => ({ baseUrl: `https://${address}` })],
  ["a proxy", (address: string) => ({ baseUrl: "https://192.0.2.1", proxy: `http://${address}` })],
])("closing the HTTP client does not wait until %s accepts the connection", async (_, to) => {
  const port = await deafPort();
  const http = client({ ...to(`127.0.0.1:${port}`), connect_timeout_ms: 600_000 });
  const before = connecting();
  const outcome = http.send(get).catch((error: unknown) => error);
  await until(() => connecting() === before + 1, "the connection is begun");
  http.close();
  expect(await outcome).toBeInstanceOf(HttpClosed);
  await until(() => connecting() === before, "nothing is left of it");
});

it("closing the HTTP client does not wait for a proxy's answer", async () => {
  const taken: Socket[] = [];
  const port = await listening(createTcp((socket) => void taken.push(socket)));
  const http = client({ baseUrl: "https://192.0.2.1", proxy: `http://127.0.0.1:${port}` });
  const outcome = http.send(get).catch((error: unknown) => error);
  await until(() => taken.length === 1, "the proxy has the connection");
  let isGone = false;
  taken[0]?.on("close", () => (isGone = true)).resume();
  http.close();
  expect(await outcome).toBeInstanceOf(HttpClosed);
  await until(() => isGone, "the connection is gone", 5_000);
});

it("a TLS handshake that never ends fails after the connect timeout", async () => {
  const port = await listening(createTcp(() => undefined));
  const http = client({ baseUrl: `https://127.0.0.1:${port}`, connect_timeout_ms: 50 });
  await expect(http.send(get)).rejects.toThrow("no connection within 0.05 s");
});

/** Starts a proxy that records the requested hosts, and either connects to the service or refuses. */
async function proxy(verdict: number): Promise<{ readonly url: string; readonly asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((_, response) => response.writeHead(400).end());
  server.on("connect", (request, socket: Socket) => {
    asked.push(request.url ?? "");
    socket.on("error", () => undefined);
    if (verdict !== 200) {
      socket.end(`HTTP/1.1 ${verdict} No\r\n\r\n`);
      return;
    }
    const [host = "", port = ""] = (request.url ?? "").split(":");
    const onward = connect(Number(port), host, () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      onward.pipe(socket).pipe(onward);
    });
    onward.on("error", () => socket.destroy());
  });
  return { url: `http://127.0.0.1:${await listening(server)}`, asked };
}

it("TLS through a proxy is negotiated with the service itself, and a rejection by the proxy is reported as such", async () => {
  const hello: number[] = [];
  // The first bytes that the service receives are a TLS record of type handshake (RFC 8446, 5.1).
  const port = await listening(
    createTcp(
      (socket) =>
        void socket.once("data", (data) => {
          hello.push(data.readUInt8(0));
          socket.destroy();
        }),
    ),
  );
  const target = `127.0.0.1:${port}`;
  const open = await proxy(200);
  await expect(client({ baseUrl: `https://${target}`, proxy: open.url }).send(get)).rejects.toThrow();
  expect(open.asked).toEqual([target]);
  expect(hello).toEqual([22]);

  const closed = await proxy(403);
  await expect(client({ baseUrl: `https://${target}`, proxy: closed.url }).send(get)).rejects.toThrow(
    `the proxy refuses the way to ${target} (403)`,
  );
  expect(hello).toEqual([22]);
});
