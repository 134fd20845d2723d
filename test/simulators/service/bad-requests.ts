/** Hostile requests as bytes, made from a seed. */
import type { Random } from "../../../src/domain/machine.ts";
import type { ContractRow } from "../../../simulators/service/http/contract-table.ts";
import { badJson, badText, badValue, pick } from "../../support/bad-values.ts";

/** The keys and ids of the service under attack. */
export interface Target {
  readonly keys: readonly string[];
  /** Values that fit into paths and queries: own, other people's, and none's. */
  readonly ids: readonly string[];
  /** The caller's own, by collection: what comes before a path parameter. */
  readonly own: ReadonlyMap<string, readonly string[]>;
}

const QUERY_NAMES = (
  "filter sort limit page search start end includes format tags before unit length interval group_by states tag datapoints " +
  "timezone period __proto__ constructor"
).split(" ");

const HOURS = [{ day: "monday", enabled: true, start: "08:00:00", stop: "17:30:00" }];
const RULES = [{ tag: "mode", op: "==", value: 3 }];
const PASSWORD = "long enough to be one";

/** Bodies that would be taken, to be spoilt in places: only so does bad input get past the first check. */
const BODIES: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  "PATCH /api/notifications/{id}": { seen_in_app: true },
  "POST /api/accounts": { name: "New", customer_type: "a", primary_industry: "b" },
  "PUT /api/accounts/{id}": { name: "Own", customer_type: "a", primary_industry: "b" },
  "POST /api/accounts/{account_id}/regions": { name: "North", is_default: false },
  "PUT /api/accounts/{account_id}/regions/{id}": { name: "North", is_default: true },
  "PUT /api/alert_types": { name: "Hot", type: "value_threshold", base_tag: "air", threshold: 1, enabled: true },
  "POST /api/api_keys": { name: "k", scope: "user", expires_at: "2030-01-01 00:00:00Z" },
  "PUT /api/booths/{id}": { bay_count: "2", brand_name: "x", burner_size: 1, height: null, width: "9" },
  "POST /api/booths_provisioning": {
    serial_number: "OWN-1",
    gateway: { id: "gw-new", hardware_id: "hw", agent_version: "1", credential_sha256: "0".repeat(64) },
    stream_id: "stream-new",
    intent: "claim",
    expected_generation: 1,
    confirm: { by: "x", note: "y" },
    reported: { seq: 1, firmware_version: "1" },
  },
  "PUT /api/booths_provisioning/{serial_number}": {
    completion_status: "COMPLETE",
    gateway_id: "gw-OWN-1",
    generation: 1,
    credential_sha256: "1".repeat(64),
    reported: { seq: 2, last_firmware_update: "2025-01-01 00:00:00Z", plc: { address: "a" } },
  },
  "POST /api/event_definitions": {
    name: "E",
    description: "d",
    category: "Other",
    event_type: "tag",
    evaluation_period: "daily",
    min_duration: 1,
    rules: RULES,
    enabled: true,
    send_email: true,
    send_notification_at: "08:00:00",
    booth_ids: [],
    user_ids: [],
  },
  "PUT /api/event_definitions/{id}": { name: "E", category: "Other", rules: RULES, min_duration: 5 },
  "POST /api/facilities": { name: "F", tz: "America/Denver", working_hours: HOURS, city: "C", latitude: 1 },
  "PUT /api/facilities/{id}": { name: "F", tz: "America/Denver", working_hours: HOURS, region_id: "r" },
  "POST /api/help": { subject: "s", message: "m" },
  "POST /api/users": { user_name: "U", email: "u@example.com", role: "user" },
  "PUT /api/users/{id}": { user_name: "U", email: "u2@example.com", role: "user" },
  "PUT /api/users/{id}/update_invitation": { user_name: "U", email: "u3@example.com" },
  "POST /api/users/change_password": { token: "t", new_password: PASSWORD },
  "POST /api/login/verify": { token: "t" },
  "POST /api/authenticate": { api_key: "nobody's" },
};

function pathOf(random: Random, row: ContractRow, { ids, own }: Target): string {
  return row.path.replaceAll(/(\w+)\/\{\w+\}/g, (_, collection: string) => {
    const draw = random.next();
    const fitting = own.get(collection) ?? ids;
    return `${collection}/${draw < 0.5 ? encodeURIComponent(pick(random, fitting)) : oddId(random, ids)}`;
  });
}

function oddId(random: Random, ids: readonly string[]): string {
  const draw = random.next();
  if (draw < 0.5) return encodeURIComponent(pick(random, ids));
  if (draw < 0.9) return encodeURIComponent(badText(random).toWellFormed()) || "%20";
  return pick(random, ["%00", "%", "%zz", "%c0%ae%c0%ae", "..", "a/b", "%2e%2e%2f", "x".repeat(300), "\u00e4"]);
}

function filterOf(random: Random): string {
  const field = pick(random, ["id", "name", "serial_number", "created_at", "email", "__proto__", badText(random)]);
  return `${field}:${pick(random, ["eq", "ne", "lt", "ge", "like", "in", "regexp", "constructor"])}:${badText(random)}`;
}

function queryOf(random: Random, { ids }: Target): string {
  const count = Math.floor(random.next() * 4);
  const parts = Array.from({ length: count }, () => {
    const name = pick(random, QUERY_NAMES);
    const tagged = name === "filter" ? filterOf(random) : name === "tags" ? `mode,${badText(random)}` : badText(random);
    const value = random.next() < 0.2 ? pick(random, ids) : tagged;
    const written =
      random.next() < 0.9 ? encodeURIComponent(value.toWellFormed()) : pick(random, ["%", "%ff%fe", "a+b"]);
    return `${pick(random, [name, name, name, `${name}[]`, `${name}[a]`])}=${written}`;
  });
  if (random.next() < 0.03) parts.push(`tags=${Array.from({ length: 2_000 }, (_, i) => i).join(",")}`);
  return parts.length === 0 ? "" : `?${parts.join(pick(random, ["&", "&", "&&", ";"]))}`;
}

function bodyOf(random: Random, row: ContractRow): string {
  const good = BODIES[`${row.method} ${row.path}`] ?? { name: "x" };
  const draw = random.next();
  if (draw < 0.25) return badJson(random);
  if (draw < 0.35) return JSON.stringify(good);
  const entries = Object.entries(good).map(([name, value]): [string, unknown] => {
    if (random.next() > 0.3) return [name, value];
    return [random.next() < 0.1 ? badText(random) : name, badValue(random)];
  });
  if (random.next() < 0.2) entries.push(["__proto__", badValue(random)]);
  return JSON.stringify(Object.fromEntries(entries));
}

const TYPES = [
  "text/plain",
  "application/xml",
  "application/json; charset=utf-16",
  "multipart/form-data; boundary=x",
  "application/x-www-form-urlencoded",
  "application/json, text/html",
  "",
  "/",
];

function headersOf(random: Random, { keys, ids }: Target): string[] {
  const bad = (): string =>
    badText(random)
      .toWellFormed()
      .replaceAll(/[\u0000-\u001f]/g, "") || "x";
  const draw = random.next();
  const key = draw < 0.8 ? pick(random, keys) : draw < 0.9 ? bad() : `Bearer ${bad()}`;
  const lines = draw < 0.97 ? [`Authorization: ${key}`] : [];
  const odd = [
    () => `If-Match: ${bad()}`,
    () => `Idempotency-Key: ${pick(random, [bad(), "same", pick(random, ids)])}`,
    () => "X-HTTP-Method-Override: DELETE",
    () => `X-Forwarded-For: ${bad()}`,
    () => `Accept: ${bad()}`,
    () => "Accept-Encoding: gzip, br, x",
    () => "Content-Encoding: gzip",
    () => `Range: bytes=0-${bad()}`,
    () => `Cookie: a=${bad()}`,
    () => "Expect: 100-continue",
    () => "Upgrade: websocket",
    () => `X-${"y".repeat(200)}: ${"z".repeat(20_000)}`,
    () => "Bad Name: x",
    () => "Host: another.example",
  ];
  while (random.next() < 0.3) lines.push(pick(random, odd)());
  return lines;
}

const METHODS = [
  "HEAD",
  "OPTIONS",
  "TRACE",
  "PROPFIND",
  "QUERY",
  "get",
  "G ET",
  "DELETE",
  "PUT",
  "PATCH",
  "POST",
  "GET",
];

/** Returns a request for the operation of that row, with its head and body as bytes. */
export function badRequest(random: Random, row: ContractRow, target: Target): Buffer {
  const method = random.next() < 0.95 ? row.method : pick(random, METHODS);
  const url = `${pathOf(random, row, target)}${queryOf(random, target)}`;
  const version = random.next() < 0.99 ? "HTTP/1.1" : pick(random, ["HTTP/1.0", "HTTP/9.9", "SPDY"]);
  const head = [`${method} ${url} ${version}`, "Host: 127.0.0.1", "Connection: close", ...headersOf(random, target)];
  const hasBody = row.method !== "GET" || random.next() < 0.1;
  if (!hasBody) return Buffer.from(`${head.join("\r\n")}\r\n\r\n`);
  const draw = random.next();
  const text = bodyOf(random, row);
  const body = draw < 0.03 ? Buffer.from(random.bytes(64)) : Buffer.from(text, draw < 0.06 ? "utf16le" : "utf8");
  head.push(`Content-Type: ${random.next() < 0.9 ? "application/json" : pick(random, TYPES)}`);
  return Buffer.concat(framed(random, head, body));
}

/** The body by length, in chunks, or by a head that contradicts itself. */
function framed(random: Random, head: readonly string[], body: Buffer): Buffer[] {
  const started = (...lines: string[]): Buffer => Buffer.from(`${[...head, ...lines].join("\r\n")}\r\n\r\n`);
  const draw = random.next();
  const length = `Content-Length: ${body.length}`;
  const chunked = "Transfer-Encoding: chunked";
  const chunk = [Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from("\r\n0\r\n\r\n")];
  if (draw < 0.93) return [started(length), body];
  if (draw < 0.97) return body.length === 0 ? [started(length)] : [started(chunked), ...chunk];
  const contradiction = [
    [started(length, chunked), ...chunk],
    [started("Content-Length: -1"), body],
    [started("Content-Length: 1", "Content-Length: 2"), body],
    [started(chunked), Buffer.from("zz\r\n"), body],
    [started(`Content-Length: ${body.length >> 1}`), body],
  ];
  return pick(random, contradiction);
}
