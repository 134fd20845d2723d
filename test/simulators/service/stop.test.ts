import { request } from "node:http";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import type { IncomingMessage } from "node:http";
import { expect, it } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { startBench } from "./service-http.ts";

it("a stopping service answers the requests that are under way, and accepts no new connections", async () => {
  const { running, call } = await startBench();
  const url = new URL("/api/accounts", running.url);
  const headers = { authorization: "admin", "content-type": "application/json", "transfer-encoding": "chunked" };
  const slow = request(url, { method: "POST", headers });
  const answered = once(slow, "response") as Promise<[IncomingMessage]>;
  slow.write('{"name":');
  // The service has the head of the slow request once a later request is answered.
  expect((await call("GET", "/api/accounts")).status).toBe(200);
  const stopped = running.stop();
  const isClosed = (): Promise<true | undefined> =>
    fetch(url).then(
      () => undefined,
      () => true,
    );
  await eventually("the port is closed", isClosed);
  slow.end('"a late account"}');
  const [response] = await answered;
  expect([response.statusCode, response.headers.connection]).toEqual([201, "close"]);
  expect(JSON.parse(await text(response))).toMatchObject({ name: "a late account" });
  await stopped;
});
