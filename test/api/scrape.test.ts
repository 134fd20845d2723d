import { readFileSync } from "node:fs";
import { request } from "node:https";
import { expect, it, onTestFinished } from "vitest";
import { render } from "../../src/domain/messages/render.ts";
import { openScrape } from "../../src/api/scrape.ts";
import type { AgentControl } from "../../src/domain/agent-control.ts";
import type { AgentStatus } from "../../src/domain/status.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { testAuthority } from "../support/tls-files.ts";

/** A real server with TLS and an agent with few figures. */

const OLD = "0123456789abcdef0123456789abcdef";
const NEW = "fedcba9876543210fedcba9876543210";
const STATUS = {
  agent_version: "1.2.3",
  gateway_id: "box",
  started_at: 0,
  config_refused: null,
  service: { kind: "up" },
  clock: { synced: true },
  disabled: [],
  certificates: [],
  outputs: [],
  booths: [],
} as unknown as AgentStatus;
const CONTROL = { status: () => STATUS, counts: () => [] } satisfies Pick<AgentControl, "status" | "counts">;

async function scraped(token: () => string, port = 0) {
  const authority = testAuthority(temporaryFolder(), "box");
  const files = authority.issue("box");
  const pems = { key: readFileSync(files.key, "utf8"), cert: readFileSync(files.cert, "utf8"), fingerprint: "AA" };
  const listener = await openScrape({ port, token, certificate: () => Promise.resolve(pems), control: CONTROL });
  onTestFinished(() => listener.close());
  const ask = (authorization: string, { path = "/metrics", method = "GET" } = {}) =>
    new Promise<{ readonly status: number | undefined; readonly text: string }>((resolve, reject) => {
      const to = { host: "localhost", port: listener.state.port, path, method, agent: false as const };
      const call = request({ ...to, ca: authority.ca, headers: { authorization } }, (answer) => {
        void answer.toArray().then((chunks) => resolve({ status: answer.statusCode, text: chunks.join("") }));
      });
      call.on("error", reject);
      call.end();
    });
  return { listener, ask };
}

it("the metrics listener accepts only requests with the current token, and applies a changed token from the next request on", async () => {
  let token = OLD;
  const { ask } = await scraped(() => token);
  const { status, text } = await ask(`Bearer ${OLD}`);
  expect(status).toBe(200);
  expect(text).toContain('booth_gateway_info{version="1.2.3",gateway="box"} 1');
  token = NEW;
  expect(await ask(`Bearer ${OLD}`)).toEqual({ status: 401, text: "" });
  expect((await ask(`Bearer ${NEW}`)).status).toBe(200);
  expect((await ask(`bearer ${NEW}`, { method: "POST" })).status).toBe(405);
  expect((await ask(`Bearer ${NEW}`, { path: "/metrics?x" })).status).toBe(404);
  expect((await ask(`Basic ${NEW}`)).status).toBe(401);
});

it("the metrics listener stays closed and reports the reason if its token is too short or its token file is unusable", async () => {
  const short = await scraped(() => "secret");
  expect(render(short.listener.state.trouble)).toContain("fewer than 32 characters");
  const none = await scraped(() => {
    throw new Error("/token can be read by others (mode 644): chmod 600 /token");
  });
  expect(render(none.listener.state.trouble)).toContain("chmod 600 /token");
});

it("the metrics listener reports an error if its port is in use", async () => {
  const first = await scraped(() => OLD);
  const second = await scraped(() => OLD, first.listener.state.port);
  expect(render(second.listener.state.trouble)).toContain("EADDRINUSE");
});
