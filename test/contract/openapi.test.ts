import { expect, it } from "vitest";
import { openApi as openApiOfService } from "../../simulators/service/resources/openapi.ts";
import { OPERATIONS as BUILT } from "../../simulators/service/resources/table.ts";
import { OPERATIONS } from "../../src/api/operations.ts";
import { openApi } from "../../src/contract/openapi.ts";

/** Fields of answers that only the box has, by operation. */
const ONLY_BOX: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(
    "duration_by_mode frequency_by_mode recent_stages revision_history runtime runtime_series utilization_stats utilization_summary utilization_timeline filter_maintenances filter_maintenance_history"
      .split(" ")
      .map((name) => [`GET /api/booths/{id}/${name}`, ["answer coverage", "query coverage"]]),
  ),
  "GET /api/booths/{id}/utilization_stats": ["answer approximate", "answer coverage", "query coverage"],
  "GET /api/booths/{id}/filter_maintenance_history": ["answer coverage", "answer data.[].assumed", "query coverage"],
  "GET /api/booths": ["answer coverage", "answer data.[].approximate"],
  "GET /api/booths/latest_updates": ["answer coverage"],
  "GET /api/booths/{id}/history": ["answer coverage", "answer data.*.[].quality", "query coverage"],
  "GET /api/booths/{id}/latest_values_for": ["answer coverage"],
  "GET /api/booths/{id}/latest_values_at": ["answer coverage"],
  "GET /api/validation_incidents": ["answer coverage", "answer data.[].said"],
  // Claim: the key of the first claim, and the choice among several booths or gateways.
  "POST /api/booths_provisioning": [
    ...["answers 202", "body api_key", "body booth", "body confirm.replace", "body confirm.service_booth"],
  ],
  "PUT /api/booths_provisioning/{serial_number}": ["answers 202"],
};

/** Fields of the binding's record and bodies that only the gateway uses. */
const RECORD = "bay_count config created_at gateway mqtt provisioned_at reported tz updated_at working_hours"
  .split(" ")
  .map((field) => `answer ${field}`);
const ONLY_SERVICE: Readonly<Record<string, readonly string[]>> = {
  "POST /api/booths_provisioning": [
    ...RECORD,
    "answers 201",
    ...["expected_generation", "gateway", "intent", "reported", "stream_id"].map((field) => `body ${field}`),
  ],
  "GET /api/booths_provisioning/{serial_number}": RECORD,
  "PUT /api/booths_provisioning/{serial_number}": [
    ...RECORD,
    ...["credential_sha256", "gateway_id", "generation", "reported"].map((field) => `body ${field}`),
  ],
  // User accounts exist only in the service.
  "POST /api/authenticate": ["body email", "body password"],
};

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly anyOf?: readonly Schema[];
}
interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}
interface Described {
  readonly deprecated?: boolean;
  readonly parameters: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
}
type Paths = Readonly<Record<string, Readonly<Record<string, Described>>>>;

/** Returns all names in a document: operations, parameters, fields of bodies and answers. */
function namesOf(document: Readonly<Record<string, unknown>>): Map<string, string[]> {
  const operations = Object.entries(document["paths"] as Paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => [`${method.toUpperCase()} ${path}`, described] as const),
  );
  return new Map(operations.map(([name, described]) => [name, namesIn(described)]));
}

function namesIn({ deprecated, parameters, requestBody, responses }: Described): string[] {
  const answers = Object.entries(responses).flatMap(([status, answer]) => [
    `answers ${status}`,
    ...(status.startsWith("2") ? fieldsOf(answer).map((field) => `answer ${field}`) : []),
  ]);
  return [
    ...(deprecated === true ? ["deprecated"] : []),
    ...parameters.map((one) => `${one.in} ${one.name}`),
    ...fieldsOf(requestBody ?? {}).map((field) => `body ${field}`),
    ...new Set(answers),
  ].sort();
}

function fieldsOf({ content = {} }: Content): string[] {
  return Object.entries(content).flatMap(([type, { schema }]) => [type, ...fieldsIn(schema, "")]);
}

function fieldsIn(schema: Schema, at: string): string[] {
  const { properties = {}, items, additionalProperties: others, anyOf = [] } = schema;
  return [
    ...Object.entries(properties).flatMap(([name, inner]) => [`${at}${name}`, ...fieldsIn(inner, `${at}${name}.`)]),
    ...(items === undefined ? [] : fieldsIn(items, `${at}[].`)),
    ...(typeof others === "object" ? fieldsIn(others, `${at}*.`) : []),
    ...anyOf.flatMap((one) => fieldsIn(one, at)),
  ];
}

it("the gateway's and the service's OpenAPI documents use the same names for shared operations, apart from listed exceptions", () => {
  const box = namesOf(openApi(OPERATIONS, "1"));
  const service = namesOf(openApiOfService(BUILT));
  expect(box.size).toBe(26);
  for (const [operation, names] of box) {
    const others = service.get(operation) ?? [];
    const alone = lacking(names, others);
    // Only the box has the query parameter `said`.
    expect.soft(alone.includes("query said"), operation).toBe(!operation.endsWith("/export_csv"));
    const others_alone = alone.filter((name) => name !== "query said");
    expect.soft(others_alone, `${operation}: of the box alone`).toEqual(ONLY_BOX[operation] ?? []);
    expect.soft(lacking(others, names), `${operation}: of the service alone`).toEqual(ONLY_SERVICE[operation] ?? []);
  }
});

/** Returns the names that the others lack; for a missing object, only its own name. */
function lacking(names: readonly string[], others: readonly string[]): string[] {
  const missing = names.filter((name) => !others.includes(name));
  return missing.filter((name) => !missing.some((one) => name.startsWith(`${one}.`)));
}
