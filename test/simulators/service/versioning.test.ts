import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CONTRACT } from "../../../simulators/service/http/contract-table.ts";
import { openApi } from "../../../simulators/service/resources/openapi.ts";
import { OPERATIONS } from "../../../simulators/service/resources/table.ts";
import { contractSite, type ContractSite, FACILITY } from "./contract-site.ts";

interface Parameter {
  readonly name: string;
  readonly in: string;
}

interface Shown {
  readonly deprecated?: boolean;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: object;
  readonly responses: Readonly<Record<string, { content?: Readonly<Record<string, { schema: unknown }>> }>>;
}

const document = openApi(OPERATIONS) as { readonly paths: Readonly<Record<string, Readonly<Record<string, Shown>>>> };

const shown = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation })),
);

const parametersOf = (name: string): string[] =>
  (shown.find((one) => one.name === name)?.operation.parameters ?? [])
    .filter((one) => one.in === "query")
    .map((one) => one.name);

/** Every property name anywhere in a JSON Schema. */
function propertiesOf(schema: unknown): string[] {
  if (typeof schema !== "object" || schema === null) return [];
  const own =
    "properties" in schema && typeof schema.properties === "object" ? Object.keys(schema.properties ?? {}) : [];
  return [...own, ...Object.values(schema).flatMap((value) => propertiesOf(value))];
}

const fieldsOf = (name: string): string[] => {
  const responses = shown.find((one) => one.name === name)?.operation.responses ?? {};
  return Object.values(responses).flatMap(({ content }) => propertiesOf(content?.["application/json"]?.schema));
};

/** Fields that the interface document states, by an operation that answers them. */
const STATED: Readonly<Record<string, string>> = {
  "GET /api/notifications":
    "data page limit pages total id user_id definition_id definition_name definition_description booth_count event_count " +
    "period_start period_end seen_in_app email_sent_at created_at updated_at",
  "GET /api/booths/{id}":
    "account_id account_name facility_id created_at bay_count brand_name burner_size height length model_number motor_size width " +
    "plc_program plc_program_revision firmware_version last_firmware_update last_program_update connectivity_status last_active_mode",
  "GET /api/facilities/{id}":
    "tz address_line_1 address_line_2 city state zipcode working_hours climate_control square_ft store_number type region_id latitude " +
    "longitude region_name account_name distributor_name",
  "GET /api/facilities":
    "active_alerts cycle_count gas_usage kwh_usage utilization_minutes working_minutes events_missed overuse_cycles overuse_minutes service_events",
  "GET /api/accounts": "regions customer_type primary_industry",
  "GET /api/accounts/{account_id}/regions": "is_default booth_count facility_count",
  "PUT /api/accounts/{account_id}/regions/{id}": "is_default booth_count facility_count",
  "GET /api/event_definitions/{id}":
    "id account_id booth_ids category created_at created_by description enabled evaluation_period event_type last_edited_by min_duration " +
    "name rules send_email send_notification_at updated_at user_ids",
  "POST /api/login/verify": "user_id user_name",
  "GET /api/utilization": "gas_usage kwh_usage",
  "GET /api/bucketed_utilization": "gas_usage kwh_usage",
  "GET /api/utilization/trends": "utilization_time median_cycles",
  "GET /api/booths/{id}/utilization_timeline": "duration",
  "GET /api/facilities/{id}/utilization_timeline": "duration",
  "GET /api/booths/{id}/utilization_summary": "bake",
  "GET /api/filters/services": "exhaust_filter intake_filter pre_filter region_id",
  "GET /api/booths/{id}/filter_maintenances": "exhaust_filter intake_filter pre_filter",
  "GET /api/filters/maintenance_timeline": "region_id events_during_period",
  "GET /api/filters/overuse_trend": "overuse_count overuse_cycles overuse_time",
  "GET /api/booths/{id}/filter_maintenance_history": "booth_overuse_cycles booth_overuse_time",
};

/** Query parameters that the interface document states. */
const ASKED: Readonly<Record<string, string>> = {
  "GET /api/notifications": "filter sort limit page",
  "GET /api/accounts": "filter sort limit page",
  "GET /api/accounts/{account_id}/regions": "search",
  "GET /api/booths/{booth_id}/alert_history": "filter sort limit page",
  "GET /api/booths": "start end includes search",
  "GET /api/booths/{id}/history": "tags",
  "GET /api/booths/{id}/utilization_timeline": "interval",
  "GET /api/bucketed_utilization": "group_by",
  "GET /api/facilities": "start end includes format search",
  "GET /api/facilities/{id}/utilization_timeline": "interval",
  "GET /api/filters/maintenance_history": "start end format",
  "GET /api/filters/overuse_trend": "start end",
};

/** Returns the lines "GET, POST /api/accounts" of the document as pairs of method and path. */
function pairsOfDocument(): string[] {
  const text = readFileSync(new URL("../../../docs/service/contract.md", import.meta.url), "utf8");
  const lines = [...text.matchAll(/^((?:[A-Z]+(?:, )?)+) (\/api\/\S+)$/gm)];
  return lines.flatMap(([, methods = "", path = ""]) => methods.split(", ").map((method) => `${method} ${path}`));
}

describe("the service's OpenAPI document", () => {
  it("lists exactly the 75 operations of the contract table, all of them implemented", () => {
    const table = CONTRACT.map(({ method, path }) => `${method} ${path}`);
    expect(table.toSorted()).toEqual(pairsOfDocument().toSorted());
    expect([new Set(table).size, shown.length, OPERATIONS.length]).toEqual([75, 75, 75]);
  });

  it("documents status 200 for a repeated claim", () => {
    const answers = document.paths["/api/booths_provisioning"]?.["post"]?.responses ?? {};
    expect(Object.keys(answers)).toEqual(["200", "201", "4XX"]);
  });

  it("documents each operation's request body", () => {
    const without = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { requestBody }]) =>
        method !== "get" && method !== "delete" && requestBody === undefined ? [`${method} ${path}`] : [],
      ),
    );
    expect(without.sort()).toEqual([
      "post /api/notifications/mark_all_as_read",
      "post /api/users/{id}/resend_invitation",
    ]);
    expect(document.paths["/api/facilities"]?.["post"]?.requestBody).toMatchObject({
      content: { "application/json": { schema: { required: ["tz", "name"] } } },
    });
  });

  it.each(Object.entries(STATED))("documents every specified field of the answer to %s", (name, fields) => {
    expect(fieldsOf(name)).toEqual(expect.arrayContaining(fields.split(" ")));
  });

  it.each(Object.entries(ASKED))("documents every specified parameter of %s", (name, names) => {
    expect(parametersOf(name)).toEqual(expect.arrayContaining(names.split(" ")));
  });
});

describe("the service's API after its recorded breaking changes", () => {
  let site: ContractSite;
  beforeAll(async () => void (site = await contractSite()));
  afterAll(() => site.running.stop());

  it("has no removed field in any answer", () => {
    const all = new Set(shown.flatMap(({ name }) => fieldsOf(name)));
    expect(all.size).toBeGreaterThan(150);
    for (const old of ["btu_usage", "kw_usage", "location", "active_spray", "all_time", "pct_change"]) {
      expect(all).not.toContain(old);
    }
  });

  it("has no removed parameter", () => {
    const old = shown.flatMap(({ name }) =>
      parametersOf(name).filter((parameter) => ["datapoints", "timezone", "period", "tag"].includes(parameter)),
    );
    expect(old).toEqual([]);
  });

  const window = "start=2026-03-02T14:00:00Z&end=2026-03-02T18:00:00Z";
  it.each([
    [`/api/booths/b1/utilization_timeline?${window}`, "datapoints=2&timezone=Asia/Tokyo"],
    [`/api/facilities/${FACILITY}/utilization_timeline?${window}`, "datapoints=2&timezone=Asia/Tokyo"],
    [`/api/booths/b1/history?tags=mode&${window}`, "datapoints=1&tag=gas"],
    [`/api/filters/overuse_trend?${window}`, "period=month"],
  ])("gives the same answer to %s with the removed parameters %s as without them", async (path, old) => {
    const plain = await site.call("GET", path);
    const more = await site.call("GET", `${path}&${old}`);
    expect(plain.status).toBe(200);
    expect(plain.body["total"]).not.toBe(0);
    expect(more.body).toEqual(plain.body);
  });

  it("requires tags for history and tz for facilities, ignores location, and has no accounts summary", async () => {
    expect((await site.call("GET", `/api/booths/b1/history?tag=mode&${window}`)).status).toBe(400);
    expect((await site.call("GET", "/api/accounts/summary")).status).toBe(404);
    expect((await site.call("PUT", `/api/facilities/${FACILITY}`, { body: { city: "X" } })).status).toBe(400);
    const body = { tz: "America/Chicago", location: "Main Street 1" };
    expect((await site.call("PUT", `/api/facilities/${FACILITY}`, { body })).text).not.toContain("Main Street 1");
  });

  it("marks one operation as deprecated in the document and in its answers", async () => {
    expect(shown.filter(({ operation }) => operation.deprecated).map(({ name }) => name)).toEqual([
      "GET /api/booths/{id}/recent_stages",
    ]);
    expect((await site.call("GET", `/api/booths/b1/recent_stages?${window}`)).headers.get("deprecation")).toBe("true");
  });

  it("serves a document that lists all 75 operations", async () => {
    const { body } = await site.call("GET", "/api/openapi.json");
    expect(body["x-operations"]).toEqual({ total: 75, built: 75 });
    expect(body).toEqual(JSON.parse(JSON.stringify(document)));
  });
});
