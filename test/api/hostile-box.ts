/** Hostile requests, made from a seed. */
import type { Random } from "../../src/domain/machine.ts";
import { SERVICE_OPERATIONS } from "../../src/contract/operations.ts";
import { badJson, badText, badValue, pick } from "../support/bad-values.ts";

const OWN_PATHS =
  "/ /main.js /status /healthz /metrics /log /support.json /readings /page /rebuild /confirm /release /filters/changed /filters/undo /booth_fields /plc/probe /plc/detect /plc/links /plc/ask /api/openapi.json /api/booths/booth-1/explain /page/ /../package.json /%2e%2e/%2e%2e/etc/passwd //evil.example/ /api/booths/%00 /api/booths/%zz/history * http://evil.example/status".split(
    " ",
  );
const PATHS = [...OWN_PATHS, ...SERVICE_OPERATIONS.map(({ path }) => path)];
const METHODS = "GET GET GET POST POST PUT PATCH DELETE HEAD OPTIONS TRACE CONNECT BREW get".split(" ");
const QUERY =
  "booth tags start end limit page filter sort includes search unit length interval before figure coverage booth_id __proto__ constructor".split(
    " ",
  );
/** Valid bodies; with one invalid value they pass the first checks. */
const BODIES: readonly Readonly<Record<string, unknown>>[] = [
  { api_key: "1234 5678" },
  { serial_number: "ABCD-1", booth: "booth-1", confirm: { by: "x", note: "y", replace: true } },
  { by: "x", note: "y", replace: true },
  { to: "nowhere", wrong_serial: true },
  { status: "gone", reason: "wrong_serial" },
  { booth: "booth-1", id: "0123456789", filter: "no_filter", by: "x", minutes_ago: 1 },
  { subject: "s", message: "m" },
  { read: { width: "1" }, fields: { width: "2", depth: "3" } },
  { for_ms: 1_800_000, lan: true },
  { link: "127.0.0.1:502", unit: 1, pdu: "0300000001" },
];
const RUBBISH: readonly string[] = [
  "GET /status HTTP/9.9\r\nHost: 127.0.0.1\r\n\r\n",
  "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc",
  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "POST /confirm HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
  "POST /confirm HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
  "POST /confirm HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n",
  "GET /status HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
  `GET /status HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ${"a".repeat(20_000)}\r\n\r\n`,
  `GET /${"a".repeat(20_000)} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`,
];

/** Requests that never end: the server must close them by itself. */
export const UNENDED: readonly string[] = [
  "\r\n",
  "GET / HTTP/1.1\r\nHost: 127.0.0.1",
  "POST /confirm HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{",
];

/** Returns the bytes of a request, or of something similar to one, which ends its connection. */
export function hostileRequest(random: Random, session: string): Buffer {
  if (random.next() < 0.08) return Buffer.from(pick(random, RUBBISH), "latin1");
  const method = pick(random, METHODS);
  const body = method === "GET" || method === "HEAD" ? "" : bodyOf(random);
  const head = [
    `${method} ${pathOf(random)} HTTP/1.1`,
    `Host: ${random.next() < 0.8 ? "127.0.0.1" : pick(random, ["evil.example", "[::1]", "", "127.0.0.1.evil", "a b"])}`,
    "Connection: close",
    ...headersOf(random, session),
    ...(body === "" ? [] : ["Content-Type: application/json", `Content-Length: ${Buffer.byteLength(body)}`]),
  ];
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`, "utf8");
}

function pathOf(random: Random): string {
  const path = pick(random, PATHS).replaceAll(/\{\w+\}/g, () =>
    random.next() < 0.5 ? "booth-1" : encodeURIComponent(wellFormed(badText(random))),
  );
  const count = Math.floor(random.next() * 4);
  const pairs = Array.from({ length: count }, () => `${pick(random, QUERY)}=${valueOf(random)}`);
  return pairs.length === 0 ? path : `${path}?${pairs.join("&")}`;
}

function valueOf(random: Random): string {
  return random.next() < 0.2
    ? pick(random, ["mode,gas", "booth-1", "2026-03-02T15:00:00Z", "-1", "1000"])
    : encodeURIComponent(wellFormed(badText(random)));
}

/** A path cannot have half a surrogate pair. */
function wellFormed(text: string): string {
  return text.toWellFormed();
}

function headersOf(random: Random, session: string): string[] {
  const headers: string[] = [];
  if (random.next() < 0.5) headers.push(`Authorization: ${random.next() < 0.7 ? session : "no such session"}`);
  if (random.next() < 0.15)
    headers.push(`Origin: ${pick(random, ["http://evil.example", "null", "http://127.0.0.1"])}`);
  if (random.next() < 0.1) headers.push("Sec-Fetch-Site: cross-site");
  if (random.next() < 0.1) headers.push("Expect: 100-continue");
  if (random.next() < 0.1) headers.push(`X-Forwarded-For: ${"1.2.3.4, ".repeat(50)}`);
  return headers;
}

function bodyOf(random: Random): string {
  const kind = random.next();
  if (kind < 0.15) return "{".repeat(1 + Math.floor(random.next() * 12_000));
  if (kind < 0.25) return JSON.stringify({ serial_number: "a".repeat(20_000) });
  if (kind < 0.35) return '{"__proto__":{"admin":true},"by":"x"}';
  if (kind < 0.5) return badJson(random);
  const body: Record<string, unknown> = { ...pick(random, BODIES) };
  body[pick(random, Object.keys(body))] = badValue(random);
  return JSON.stringify(body);
}
