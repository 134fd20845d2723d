import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { CONTRACT } from "../../../simulators/service/http/contract-table.ts";
import { badInput, faultOf } from "./bad-input.ts";
import { sendRaw } from "../../support/raw-http.ts";
import { seedOf } from "../../support/seed.ts";
import { startBench } from "./service-http.ts";

const REQUESTS = 5_000;
/** More than a body may have. */
const TOO_LARGE = 300 * 1024;

describe("bad input over real sockets", () => {
  it("gets no 5xx, no other account's data, no SQL and no secret, whatever the operation", async () => {
    const seed = seedOf("bad-input.long");
    const { faults, by_status, by_operation } = await badInput({ seed, requests: REQUESTS });
    process.stdout.write(`bad input: ${JSON.stringify(by_status)}\n`);
    expect(faults).toEqual([]);
    expect(Object.keys(by_operation)).toHaveLength(CONTRACT.length);
    // The requests are bad enough to be refused in each way, and good enough to come through.
    for (const status of [200, 201, 400, 401, 403, 404, 415, 431]) expect(by_status[status]).toBeGreaterThan(0);
    expect(by_status[0] ?? 0).toBeLessThan(REQUESTS / 100);
  });

  it.each([
    ["a 500", { status: 500, head: "", body: '{"error":"x"}' }],
    ["another account's name", { status: 200, head: "", body: '{"name":"PLANTED Shop"}' }],
    ["SQL", { status: 400, head: "", body: '{"error":"near SELECT x"}' }],
    ["a stack", { status: 400, head: "", body: '{"error":"at file (x.ts:1)"}' }],
    ["a hash", { status: 200, head: "", body: `{"x":"${"0a".repeat(32)}"}` }],
    ["another shape of error", { status: 404, head: "", body: '{"error":"x","code":1}' }],
    ["no JSON", { status: 404, head: "", body: "<html>" }],
  ])("would notice %s", (_, answer) => {
    expect(faultOf(answer, "GET /")).toBeDefined();
  });
});

describe("the cost of one caller", () => {
  it("a body over the limit is answered with 413, told in advance or in chunks", async () => {
    const bench = await startBench();
    const port = Number(new URL(bench.running.url).port);
    const head = "POST /api/help HTTP/1.1\r\nHost: x\r\nAuthorization: admin\r\nContent-Type: application/json\r\n";
    const text = JSON.stringify({ subject: "s", message: "m".repeat(TOO_LARGE) });
    const told = await sendRaw(port, Buffer.from(`${head}Content-Length: ${text.length}\r\n\r\n`));
    expect([told.status, JSON.parse(told.body)]).toEqual([413, { error: expect.any(String) as unknown }]);
    const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n${text.length.toString(16)}\r\n${text}`;
    expect((await sendRaw(port, Buffer.from(chunked))).status).toBe(413);
    await bench.running.stop();
  });

  it("a body that comes too slowly is cut with 408, and others are served meanwhile", async () => {
    const bench = await startBench();
    const port = Number(new URL(bench.running.url).port);
    const socket = connect(port, "127.0.0.1");
    let answer = "";
    socket.setEncoding("utf8").on("data", (chunk: string) => (answer += chunk));
    socket.on("error", () => undefined);
    const closed = new Promise((resolve) => socket.on("close", () => resolve(true)));
    socket.write("POST /api/help HTTP/1.1\r\nHost: x\r\nAuthorization: admin\r\n");
    socket.write('Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"subject"');
    const drip = setInterval(() => socket.write(" "), 100);
    expect((await bench.call("GET", "/api/accounts")).status).toBe(200);
    expect(await closed).toBe(true);
    clearInterval(drip);
    expect(answer).toMatch(/^HTTP\/1\.1 408 [^]*\r\n\r\n\{"error":"request timeout"\}$/);
    expect((await bench.call("GET", "/api/accounts")).status).toBe(200);
    await bench.running.stop();
  });
});
