import { once } from "node:events";
import { readFileSync } from "node:fs";
import { request, type IncomingMessage } from "node:http";
import { request as requestTls } from "node:https";
import { afterEach, expect, it, onTestFinished, vi } from "vitest";
import type { PageListener } from "../../src/api/operation.ts";
import { openPageListener, type PageCertificate } from "../../src/api/server.ts";
import type { AgentControl } from "../../src/domain/agent-control.ts";
import { crowdOf, type Crowd } from "./crowd.ts";
import { until } from "../support/eventually.ts";
import { sendRaw } from "../support/raw-http.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { testAuthority } from "../support/tls-files.ts";

/** Real listeners on loopback. Fake timers move the listener's timer and clock. */

const HALF_AN_HOUR_MS = 30 * 60_000;
// The part of the control that the listener uses here.
const CONTROL = { status: () => ({ booths: [], at: 0 }) } as unknown as AgentControl;

afterEach(() => void vi.useRealTimers());

async function openDoor(
  control: AgentControl = CONTROL,
  certificate: () => Promise<PageCertificate> = () => Promise.reject(new Error()),
): Promise<PageListener> {
  const open = await openPageListener({ port: 0, lan_port: 0, certificate }, { control });
  onTestFinished(() => open.close());
  return open.services.page;
}

async function loopbackPort(): Promise<number> {
  return Number(new URL((await openDoor()).state().url ?? "").port);
}

const HEALTH = Buffer.from("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");

/** Opens a session and returns its token. */
async function enter(url: string, pin: string): Promise<string> {
  const entered = await ask(`${url}/api/authenticate`, { method: "POST", body: JSON.stringify({ api_key: pin }) });
  return (JSON.parse((await entered.toArray()).join("")) as { session_token: string }).session_token;
}

async function ask(
  url: string,
  how: { method?: string; body?: string; token?: string } = {},
): Promise<IncomingMessage> {
  const call = (url.startsWith("https") ? requestTls : request)(url, {
    method: how.method ?? "GET",
    headers: { "content-type": "application/json", ...(how.token === undefined ? {} : { authorization: how.token }) },
    rejectUnauthorized: false,
  });
  call.end(how.body);
  const [answer] = (await once(call, "response")) as [IncomingMessage];
  return answer;
}

async function statusOf(...call: Parameters<typeof ask>): Promise<number | undefined> {
  const answer = await ask(...call);
  await answer.toArray();
  return answer.statusCode;
}

it("the web page on the network closes when its time ends, and its event streams, PIN and sessions end with it", async () => {
  const files = testAuthority(temporaryFolder(), "box").issue("box");
  const pems = { key: readFileSync(files.key, "utf8"), cert: readFileSync(files.cert, "utf8"), fingerprint: "AA" };
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "hrtime"] });
  const door = await openDoor(CONTROL, () => Promise.resolve(pems));
  const { lan, url, pin } = await door.open({ for_ms: HALF_AN_HOUR_MS, lan: true });
  const near = url ?? "";
  const far = `https://127.0.0.1:${String(lan?.port)}`;
  const token = await enter(far, pin);
  expect(await statusOf(`${far}/status`, { token })).toBe(200);
  const page = await ask(`${far}/events`, { token });
  const ended = new Promise((resolve) => page.resume().on("error", resolve));

  vi.advanceTimersByTime(HALF_AN_HOUR_MS - 1);
  expect(await statusOf(`${far}/status`, { token })).toBe(200);
  expect(await statusOf(`${near}/confirm`, { method: "POST", token, body: "{}" })).toBe(400);
  expect(door.state()).toMatchObject({ lan: { for_ms: 1 }, pin_for_ms: 1 });

  vi.advanceTimersByTime(1);
  await ended;
  await expect(ask(`${far}/status`, { token })).rejects.toThrow("ECONNREFUSED");
  expect(door.state()).toMatchObject({ lan: null, pin_for_ms: null });
  // On the box itself the page stays open, without the session of the PIN.
  expect(await statusOf(`${near}/status`)).toBe(200);
  expect(await statusOf(`${near}/confirm`, { method: "POST", token, body: "{}" })).toBe(401);
  expect(await statusOf(`${near}/api/authenticate`, { method: "POST", body: JSON.stringify({ api_key: pin }) })).toBe(
    401,
  );
});

it("a request with two Host headers is rejected even if one of the headers is right", async () => {
  const port = await loopbackPort();
  const statusWith = async (...hosts: readonly string[]): Promise<number> => {
    const lines = ["GET /status HTTP/1.1", ...hosts.map((host) => `Host: ${host}`), "Connection: close", "", ""];
    return (await sendRaw(port, Buffer.from(lines.join("\r\n")))).status;
  };
  expect(await statusWith("127.0.0.1")).toBe(200);
  expect(await statusWith("127.0.0.1", "evil.example")).toBe(403);
  expect(await statusWith("evil.example", "127.0.0.1")).toBe(403);
});

it("an address with too many connections blocks no requests, and its idle connections are closed", async () => {
  const port = await loopbackPort();
  const crowd = await crowdOf(port, { from: "127.0.0.9", count: 300 });
  onTestFinished(() => crowd.close());
  expect((await sendRaw(port, HEALTH, "127.0.0.1")).status).toBe(200);
  expect((await sendRaw(port, HEALTH, "127.0.0.9")).status).toBe(200);
  await until(() => crowd.open() <= 32, "no more than its share is left of the crowd");
});

it("a client is still served if many other addresses have used up all connections", async () => {
  const port = await loopbackPort();
  const crowds: Crowd[] = [];
  for (let host = 10; host < 20; host += 1) {
    const crowd = await crowdOf(port, { from: `127.0.0.${host}`, count: 20 });
    onTestFinished(() => crowd.close());
    crowds.push(crowd);
  }
  const open_now = (): number => crowds.reduce((sum, crowd) => sum + crowd.open(), 0);
  await until(() => open_now() <= 100, "no more than the whole is left of them");
  // The sender with most connections makes room, not the first one.
  expect(crowds.map((crowd) => crowd.open() > 0)).toEqual(crowds.map(() => true));
  expect((await sendRaw(port, HEALTH, "127.0.0.1")).status).toBe(200);
});

it("an event stream with a valid session delivers readings, and delivers only the status once a new PIN ends the session", async () => {
  const control = {
    status: () => ({ booths: [{ booth: "booth-1" }], at: 0 }),
    readings: () => [{ tag: "mode" }],
  } as unknown as AgentControl;
  const door = await openDoor(control);
  const { url, pin } = await door.open({ for_ms: HALF_AN_HOUR_MS, lan: false });
  const token = await enter(url ?? "", pin);
  const told = async (how: { token?: string }): Promise<() => string> => {
    const page = await ask(`${url ?? ""}/events?booth=booth-1`, how);
    let text = "";
    page.on("error", () => undefined).on("data", (bytes: Buffer) => (text += bytes.toString()));
    return () => text;
  };
  const signedIn = await told({ token });
  const stranger = await told({});
  const readings = 'event: readings\ndata: {"booth":"booth-1","readings":[{"tag":"mode"}]}';
  const locked = 'event: readings\ndata: {"booth":"booth-1","readings":null}';
  await until(() => signedIn().includes(readings) && stranger().includes(locked), "each sees what it may");
  await door.open({ for_ms: HALF_AN_HOUR_MS, lan: false });
  await until(() => signedIn().includes(locked), "the session has ended");
  expect(signedIn().lastIndexOf(readings)).toBeLessThan(signedIn().indexOf(locked));
  expect(stranger()).not.toContain(readings);
  expect(await statusOf(`${url ?? ""}/log`, { token })).toBe(401);
});
