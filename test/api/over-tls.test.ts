import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, constants, type ClientHttp2Session, type OutgoingHttpHeaders } from "node:http2";
import { expect, it, onTestFinished } from "vitest";
import { openPageListener } from "../../src/api/server.ts";
import type { AgentControl } from "../../src/domain/agent-control.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { testAuthority } from "../support/tls-files.ts";

/** The page's listener on the network, as a browser speaks to it: HTTP/2 over TLS. */

// The part of the control that the listener uses here.
const CONTROL = { status: () => ({ booths: [], at: 0 }) } as unknown as AgentControl;

async function opened() {
  const files = testAuthority(temporaryFolder(), "box").issue("box");
  const pems = { key: readFileSync(files.key, "utf8"), cert: readFileSync(files.cert, "utf8"), fingerprint: "AA" };
  const listener = await openPageListener(
    { port: 0, lan_port: 0, certificate: () => Promise.resolve(pems) },
    { control: CONTROL },
  );
  onTestFinished(() => listener.close());
  const { lan, pin } = await listener.services.page.open({ for_ms: 60_000, lan: true });
  const session = connect(`https://127.0.0.1:${String(lan?.port)}`, { rejectUnauthorized: false });
  // An ended session also ends its streams, which the tests check.
  session.on("error", () => undefined);
  onTestFinished(() => session.destroy());
  return { session, pin, listener };
}

async function ask(session: ClientHttp2Session, headers: OutgoingHttpHeaders, body?: string) {
  const stream = session.request(headers);
  stream.end(body);
  const [head] = (await once(stream, "response")) as [Record<string, string | number | undefined>];
  return { status: head[":status"], head, text: (await stream.setEncoding("utf8").toArray()).join("") };
}

it("a single HTTP/2 connection loads the page's document and all its files, and the versioned files are cached permanently", async () => {
  const { session } = await opened();
  const { text, head } = await ask(session, { ":path": "/", "accept-language": "de-AT,de;q=0.9" });
  expect(head["cache-control"]).toBe("no-cache");
  expect(head["content-security-policy"]).toContain("default-src 'none'");
  const paths = [...text.matchAll(/(?:href|src)="(\/v\/[^"]+)"/g)].map(([, path]) => path ?? "");
  const names = new Set(paths.map((path) => path.replace(/^.*\//, "")));
  expect(names).toEqual(new Set(["page.css", "ahead.js", "first.js", "de.json", "messages-de.json"]));
  const files = await Promise.all(paths.map((path) => ask(session, { ":path": path })));
  expect(new Set(files.map(({ status }) => status))).toEqual(new Set([200]));
  expect(new Set(files.map((file) => file.head["cache-control"]))).toEqual(new Set(["max-age=31536000, immutable"]));
});

it("a page file requested under an outdated version is answered with the current version, which must not be cached", async () => {
  const { session } = await opened();
  const { status, head } = await ask(session, { ":path": "/v/of-last-year/main.js" });
  expect([status, head["cache-control"]]).toEqual([200, "no-cache"]);
  const known = await ask(session, { ":path": "/main.js", "if-none-match": String(head["etag"]) });
  expect(known.status).toBe(304);
});

it.each([
  ["without a session", { ":path": "/status" }, undefined, 401],
  ["with a foreign host name", { ":path": "/", ":authority": "evil.example" }, undefined, 403],
  ["with two host names", { ":path": "/", host: "evil.example" }, undefined, 403],
  ["from another site", { ":path": "/main.js", origin: "https://evil.example" }, undefined, 403],
  ["with a body that is too large", { ":path": "/api/authenticate", ":method": "POST" }, "a".repeat(20_000), 413],
])("an HTTP/2 request %s is rejected, and the connection stays usable", async (...[, headers, body, status]) => {
  const { session } = await opened();
  expect((await ask(session, headers, body)).status).toBe(status);
  expect((await ask(session, { ":path": "/main.js" })).status).toBe(200);
});

it("the PIN opens a session over HTTP/2, and closing the listener ends an open event stream", async () => {
  const { session, pin, listener } = await opened();
  const entered = await ask(
    session,
    { ":path": "/api/authenticate", ":method": "POST" },
    JSON.stringify({ api_key: pin }),
  );
  expect(entered.status).toBe(200);
  const { session_token } = JSON.parse(entered.text) as { readonly session_token: string };
  const page = session.request({ ":path": "/events", authorization: session_token });
  page.on("error", () => undefined);
  const [first] = (await once(page, "data")) as [Buffer];
  expect(first.toString()).toContain("event: status");
  const closed = once(page, "close");
  listener.close();
  await closed;
});

it("an HTTP/2 client that opens and resets streams in a loop is disconnected", async () => {
  const { session } = await opened();
  await once(session, "connect");
  const ended = new Promise((resolve) => session.once("close", resolve));
  for (let count = 0; count < 300 && !session.destroyed; count += 1) {
    const stream = session.request({ ":path": "/main.js" });
    stream.on("error", () => undefined);
    stream.close(constants.NGHTTP2_CANCEL);
    // After the ping's answer, the box has seen both.
    await new Promise<void>((answered) => session.ping(() => answered()));
  }
  await ended;
});
