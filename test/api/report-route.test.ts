import { once } from "node:events";
import { createServer, get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished, expect, it } from "vitest";
import { sendFailure, sendReport } from "../../src/api/answer.ts";
import { until } from "../support/eventually.ts";

const PARTS = 200;
const PART_BYTES = 65_536;

/** A report whose parts share one buffer, as on the reports thread. */
function report() {
  const seen = { made: 0, left: 0 };
  const memory = Buffer.from(new SharedArrayBuffer(PART_BYTES));
  const next = (): Promise<IteratorResult<Uint8Array, undefined>> => {
    if (seen.made === PARTS) return Promise.resolve({ done: true, value: undefined });
    return Promise.resolve({ done: false, value: memory.fill(seen.made++) });
  };
  const leave = (): Promise<IteratorResult<Uint8Array, undefined>> => {
    seen.left += 1;
    return Promise.resolve({ done: true, value: undefined });
  };
  return { seen, body: { [Symbol.asyncIterator]: () => ({ next, return: leave }) } };
}

async function asked(): Promise<{ answer: IncomingMessage; seen: { readonly made: number; readonly left: number } }> {
  const { seen, body } = report();
  const ask = () => Promise.resolve({ status: 200, headers: {}, body });
  const server = createServer((_, response) => {
    sendReport(response, { operation: "GET /", params: {}, query: {} }, ask).catch((error: unknown) =>
      sendFailure(response, error),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const [answer] = (await once(get({ port: (server.address() as AddressInfo).port }), "response")) as [IncomingMessage];
  return { answer, seen };
}

it("each part of a report is generated only after the previous part has left the shared buffer", async () => {
  const { answer, seen } = await asked();
  const all = Buffer.concat(await answer.toArray());
  expect(all.length).toBe(PARTS * PART_BYTES);
  for (let part = 0; part < PARTS; part += 1)
    expect(all.subarray(part * PART_BYTES, (part + 1) * PART_BYTES).every((byte) => byte === part)).toBe(true);
  expect(seen).toEqual({ made: PARTS, left: 0 });
});

it("a report's generation pauses for a slow reader, and ends if the reader disconnects", async () => {
  const { answer, seen } = await asked();
  answer.on("error", () => undefined);
  let before = -1;
  // The sockets' buffers are filled at once; then no more parts are made.
  await until(() => before === (before = seen.made), "the making stands still");
  expect(seen.made).toBeLessThan(PARTS);
  answer.destroy();
  await until(() => seen.left === 1, "the making is told");
  expect(seen.made).toBeLessThan(PARTS);
});
