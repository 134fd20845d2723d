/** A reference service with data for every operation of the interface, and a request that succeeds for each. */
import type { ContractRow } from "../../../simulators/service/http/contract-table.ts";
import { seedSite } from "../../../simulators/service/accounts/seed.ts";
import { claim, feed, lastToken, type Running, signedIn, startBench } from "./service-http.ts";
import { EPOCH, HOUR, MINUTE, PARAMETERS, script, type Script } from "./service-log.ts";

export interface ContractSite extends Running {
  /** A key of each scope of the account. */
  readonly keys: Readonly<Record<ContractRow["scopes"][number], string>>;
  /** A key of scope user whose maker is a user with notifications. */
  readonly annsKey: string;
  /** Key of scope admin of another account. */
  readonly stranger: string;
  /** Texts that only appear in this account's data. */
  readonly marks: readonly string[];
  readonly requestFor: (row: Pick<ContractRow, "method" | "path">) => Promise<ContractRequest>;
}

export interface ContractRequest {
  readonly path: string;
  readonly body?: unknown;
  readonly key: string;
}

const plain = { bay: 0, unit: "", factor: 1, group: "fast", deadband: 0, heartbeat_ms: 900_000 };
const parameters = { ...PARAMETERS, tags: { ...PARAMETERS.tags, door_open: plain } };
export const ACCOUNT = "acc-demo-body-shop";
export const FACILITY = "fac-demo-body-shop-main-street";
const REGION = "reg-demo-body-shop";
const WINDOW = "start=2026-03-02T06:00:00Z&end=2026-03-04T06:00:00Z";

/** Two days in use, with a filter change, doors left open, and two incidents. */
function twoDays(): Script {
  const log = script(parameters)
    .set("firmware_version", "1.4")
    .set("plc_program", "SPRAY")
    .set("plc_program_revision", "14C")
    .set("exhaust_minutes", 100)
    .set("exhaust_reset", false)
    .set("door_open", false);
  for (let i = 0; i < 2; i += 1) {
    log
      .stage("spray", 34 * MINUTE)
      .set("door_open", true)
      .stage("purge", 3 * MINUTE)
      .set("door_open", false)
      .stage("bake", 30 * MINUTE)
      .set("exhaust_reset", true)
      .stage("cool_down", 10 * MINUTE)
      .set("exhaust_reset", false)
      .stage("idle", 23 * HOUR);
  }
  const seen = { first_seen_at: EPOCH, last_seen_at: EPOCH + MINUTE, resolved_at: null };
  const check = { check: "between", logic: { op: "between", min: 0, max: 1 }, reason: "r", severity: "warning" };
  for (const tag_name of ["gas", "energy"]) log.record("i", { tag_name, ...check, ...seen });
  return log;
}

export async function contractSite(): Promise<ContractSite> {
  const bench = await startBench();
  const { db } = bench.running;
  await claim(bench, "gw-1", { reported: { seq: 1, firmware_version: "1.4", last_active_mode: "Bake Mode" } });
  seedSite(db, { serial: "ABCD5678", facility: "Side Street", boothId: "b3", now: EPOCH });
  seedSite(db, { serial: "ELSE-1", account: "Other", boothId: "b2", adminKey: "stranger", now: EPOCH });
  const make = async (path: string, body: unknown, key = "admin"): Promise<Readonly<Record<string, unknown>>> => {
    const answer = await bench.call(path === "/api/alert_types" ? "PUT" : "POST", path, { body, key });
    if (answer.status > 299) throw new Error(`${path}: ${answer.text}`);
    return answer.body;
  };
  let people = 0;
  const invited = async (): Promise<{ id: string; token: string }> => {
    const { id } = await make("/api/users", { user_name: "Bea", email: `bea${(people += 1)}@example.com` });
    return { id: String(id), token: lastToken(bench) };
  };
  const ann = await signedIn(bench, "admin");
  const new_password = "long enough to be one";
  const mine = await make("/api/api_keys", { name: "mine", scope: "user" }, ann.bearer);
  const annsKey = String(mine["key"]);
  const rules = [{ tag: "door_open", op: "==", value: true }];
  const definition = await make("/api/event_definitions", {
    name: "door",
    rules,
    user_ids: [ann.id],
    booth_ids: ["b1"],
  });
  const alertType = await make("/api/alert_types", { name: "door", type: "tag", base_tag: "door_open" });
  feed(bench, twoDays());
  const told = await bench.call("GET", "/api/notifications", { key: annsKey });
  const [notification] = told.body["data"] as { id: string }[];
  if (notification === undefined) throw new Error("there is no notification");

  const regions = `/api/accounts/${ACCOUNT}/regions`;
  const spare = async (path: string, body: unknown): Promise<string> =>
    `${path}/${String((await make(path, body))["id"])}`;
  /** Bodies and targets of operations that need more than their path. */
  const special: Readonly<Record<string, () => Promise<Partial<ContractRequest>> | Partial<ContractRequest>>> = {
    "GET /api/notifications": () => ({ key: annsKey }),
    "PATCH /api/notifications/{id}": () => ({ key: annsKey, body: { seen_in_app: true } }),
    "GET /api/notifications/{id}/detail": () => ({ key: annsKey }),
    "POST /api/notifications/mark_all_as_read": () => ({ key: annsKey }),
    "POST /api/accounts": () => ({ body: { name: "New", customer_type: "shop" } }),
    "PUT /api/accounts/{id}": () => ({ body: { primary_industry: "cars" } }),
    [`POST /api/accounts/{account_id}/regions`]: () => ({ body: { name: "West" } }),
    [`PUT /api/accounts/{account_id}/regions/{id}`]: () => ({ body: { name: "Default" } }),
    [`DELETE /api/accounts/{account_id}/regions/{id}`]: async () => ({ path: await spare(regions, { name: "gone" }) }),
    "PUT /api/alert_types": () => ({ body: { id: alertType["id"], severity: "high" } }),
    "POST /api/api_keys": () => ({ body: { name: "k", scope: "user" } }),
    "DELETE /api/api_keys/{id}": async () => ({ path: await spare("/api/api_keys", { name: "k", scope: "user" }) }),
    "PUT /api/booths/{id}": () => ({ body: { width: "13.5" } }),
    "GET /api/booths": () => ({
      path: `/api/booths?${WINDOW}&includes=cycle_count:utilization_times:energy_usage:bake_time:overuse_data`,
    }),
    "GET /api/facilities": () => ({
      path: `/api/facilities?${WINDOW}&includes=active_alerts:cycle_count:utilization_times:energy_usage:overuse_data:service_events`,
    }),
    "POST /api/booths_provisioning": () => ({
      body: { serial_number: "ABCD5678", gateway: gatewayOf("gw-2"), stream_id: "s2" },
    }),
    "PUT /api/booths_provisioning/{serial_number}": () => ({ body: { completion_status: "COMPLETE", generation: 1 } }),
    "POST /api/event_definitions": () => ({ body: { name: "more", rules } }),
    "PUT /api/event_definitions/{id}": () => ({ body: { description: "left open" } }),
    "DELETE /api/event_definitions/{id}": async () => ({
      path: await spare("/api/event_definitions", { name: "gone", rules }),
    }),
    "POST /api/facilities": () => ({ body: { name: "East", tz: "America/Denver" } }),
    "PUT /api/facilities/{id}": () => ({ body: { tz: "America/Chicago", city: "X" } }),
    "POST /api/help": () => ({ body: { subject: "s", message: "m" } }),
    "POST /api/users": () => ({ body: { user_name: "Bob", email: `bob${(people += 1)}@example.com` } }),
    "PUT /api/users/{id}": () => ({ body: { user_name: "Ann" } }),
    "POST /api/users/{id}/resend_invitation": async () => ({
      path: `/api/users/${(await invited()).id}/resend_invitation`,
    }),
    "PUT /api/users/{id}/update_invitation": async () => {
      return { path: `/api/users/${(await invited()).id}/update_invitation`, body: { user_name: "Anna" } };
    },
    "POST /api/users/change_password": async () => ({ body: { token: (await invited()).token, new_password } }),
    "POST /api/login/verify": async () => ({ body: { token: (await invited()).token } }),
    "POST /api/authenticate": () => ({ body: { api_key: "user" } }),
  };
  const ids: Readonly<Record<string, string>> = {
    "/api/accounts/": ACCOUNT,
    "/api/booths/": "b1",
    "/api/facilities/": FACILITY,
    "/api/users/": ann.id,
    "/api/notifications/": notification.id,
    "/api/event_definitions/": String(definition["id"]),
  };
  const requestFor: ContractSite["requestFor"] = async ({ method, path }) => {
    const filled = path
      .replace("{account_id}/regions/{id}", `${ACCOUNT}/regions/${REGION}`)
      .replace("{account_id}", ACCOUNT)
      .replace("{booth_id}", "b1")
      .replace("{serial_number}", "ABCD1234")
      .replace(/^(\/api\/\w+\/)\{id\}/, (_, start: string) => start + (ids[start] ?? ""));
    const query = path.includes("latest_values") || path.endsWith("/history") ? "tags=mode,gas&" : "";
    const target =
      method === "GET" && path.includes("notifications")
        ? filled
        : `${filled}${method === "GET" ? `?${query}${WINDOW}` : ""}`;
    return { path: target, key: "admin", ...(await special[`${method} ${path}`]?.()) };
  };
  const keys = { admin: "admin", user: "user", provision: "prov", gateway: "secret of gw-1" };
  const marks = [
    "ABCD1234",
    "ABCD5678",
    ACCOUNT,
    REGION,
    FACILITY,
    ann.id,
    "ann@example.com",
    notification.id,
    '"b1"',
    '"b3"',
  ];
  return {
    ...bench,
    keys,
    annsKey,
    stranger: "stranger",
    marks: [...marks, String(definition["id"]), String(alertType["id"])],
    requestFor,
  };
}

function gatewayOf(id: string): Record<string, unknown> {
  return { id, hardware_id: "hw", agent_version: "1.0.0", credential_sha256: "ab".repeat(32) };
}
