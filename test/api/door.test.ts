import { once } from "node:events";
import { readFileSync } from "node:fs";
import { request, type IncomingMessage } from "node:http";
import { request as requestTls } from "node:https";
import { afterEach, expect, it, onTestFinished, vi } from "vitest";
import { openDoor } from "../../src/api/door.ts";
import type { AgentControl } from "../../src/ports.ts";
import { sendRaw } from "../support/raw-http.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { testAuthority } from "../support/tls-files.ts";

/** Real listeners on loopback; the door's own timer and clock are moved by hand. */

const HALF_AN_HOUR_MS = 30 * 60_000;
// What the door asks of its control here.
const CONTROL = { status: () => ({ booths: [], at: 0 }) } as unknown as AgentControl;

afterEach(() => void vi.useRealTimers());

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

it("the page on the network closes when its time is over: listener, open pages, PIN and sessions", async () => {
  const files = testAuthority(temporaryFolder(), "box").issue("box");
  const pems = { key: readFileSync(files.key, "utf8"), cert: readFileSync(files.cert, "utf8"), fingerprint: "AA" };
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  const open = await openDoor({ port: 0, lan_port: 0, certificate: () => Promise.resolve(pems) }, CONTROL, {});
  onTestFinished(() => open.close());
  const { door } = open.services;
  const { lan, url, pin } = await door.open({ for_ms: HALF_AN_HOUR_MS, lan: true });
  const [near, far] = [url ?? "", `https://127.0.0.1:${String(lan?.port)}`];
  const entered = await ask(`${far}/api/authenticate`, { method: "POST", body: JSON.stringify({ api_key: pin }) });
  const { session_token: token } = JSON.parse((await entered.toArray()).join("")) as { session_token: string };
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
  // On the box itself the page stays, and its session has ended with the PIN.
  expect(await statusOf(`${near}/status`)).toBe(200);
  expect(await statusOf(`${near}/confirm`, { method: "POST", token, body: "{}" })).toBe(401);
  expect(await statusOf(`${near}/api/authenticate`, { method: "POST", body: JSON.stringify({ api_key: pin }) })).toBe(
    401,
  );
});

it("a host named twice is nobody's, whichever of the two is ours", async () => {
  const open = await openDoor({ port: 0, lan_port: 0, certificate: () => Promise.reject(new Error()) }, CONTROL, {});
  onTestFinished(() => open.close());
  const port = Number(new URL(open.services.door.state().url ?? "").port);
  const statusWith = async (...hosts: readonly string[]): Promise<number> => {
    const lines = ["GET /status HTTP/1.1", ...hosts.map((host) => `Host: ${host}`), "Connection: close", "", ""];
    return (await sendRaw(port, Buffer.from(lines.join("\r\n")))).status;
  };
  expect(await statusWith("127.0.0.1")).toBe(200);
  expect(await statusWith("127.0.0.1", "evil.example")).toBe(403);
  expect(await statusWith("evil.example", "127.0.0.1")).toBe(403);
});
