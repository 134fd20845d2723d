import { z } from "zod";
import * as reports from "../../../simulators/service/contract/report-shapes.ts";
import * as resources from "../../../simulators/service/contract/resource-shapes.ts";
import { CONTRACT, type ContractRow } from "../../../simulators/service/http/contract-table.ts";
import { OPERATIONS as SERVICE } from "../../../simulators/service/resources/table.ts";
import { OPERATIONS as BOX } from "../../../src/api/operations.ts";
import { openApi } from "../../../src/contract/openapi.ts";
import { type Json, kindOf, mapProperties, objectIn } from "./json.ts";
import { MESSAGES } from "./messages.ts";
import { NAMES, type Origin, SUMMARIES } from "./origins.ts";

/** Version of the contract. A breaking change needs a new one. */
export const VERSION = "1";
const LICENSE = { name: "Apache 2.0", url: "https://www.apache.org/licenses/LICENSE-2.0.html" };
const ORIGINS = "`x-origin` of a name: document (the interface document), observed (a service in use) or ours.";

/** Shapes with a name of their own in the document, by that name. */
const NAMED = Object.entries({ ...reports, ...resources }).map(
  ([name, shape]) => [`${name.charAt(0).toUpperCase()}${name.slice(1)}`, shape] as const,
);
const registry = z.registry<{ id: string }>();
for (const [name, shape] of NAMED) registry.add(shape, { id: name });

/** Returns the origin of a name at a place, see `NAMES`. */
export function originOf(place: string, path: string): Origin {
  const isIn = (origin: "document" | "observed"): boolean => (NAMES[origin][place] ?? "").split(" ").includes(path);
  if (isIn("document")) return "document";
  return isIn("observed") ? "observed" : "ours";
}

/** Returns the OpenAPI document of the service's operations. */
export function serviceDocument(): Json {
  const bodies = new Map<string, z.ZodType | undefined>(
    SERVICE.map(({ method, path, body }) => [`${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}`, body] as const),
  );
  const paths: Json = {};
  for (const row of CONTRACT) {
    const name = `${row.method} ${row.path}`;
    objectIn(paths, row.path)[row.method.toLowerCase()] = operationOf(row, bodies.get(name));
  }
  const schemas: Json = Object.fromEntries(
    NAMED.map(([name, shape]) => [name, marked(name, answerSchema(shape, name))] as const).sort(([a], [b]) =>
      a < b ? -1 : 1,
    ),
  );
  schemas["Error"] = {
    type: "object",
    required: ["error"],
    properties: { error: { type: "string", "x-origin": "document" } },
  };
  return {
    openapi: "3.1.0",
    info: {
      title: "Booth Monitoring Service",
      version: VERSION,
      license: LICENSE,
      description: `The HTTP interface between gateways, people and a service for booths. ${ORIGINS} Additional fields in answers are allowed.`,
    },
    servers: [{ url: "https://{host}", variables: { host: { default: "service.example" } } }],
    security: [{ key: [] }],
    components: { securitySchemes: { key: { type: "apiKey", in: "header", name: "Authorization" } }, schemas },
    paths,
  };
}

function operationOf({ method, path, scopes, is_deprecated, query, ...exchange }: ContractRow, body?: z.ZodType): Json {
  const name = `${method} ${path}`;
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, one = ""]) => parameter(one, "path", "document"));
  const inQuery = query.map((one) => parameter(one, "query", originOf(`${name} query`, one)));
  const { status, again, answer, csv } = exchange;
  const content = {
    ...(answer === undefined ? {} : { "application/json": { schema: marked(`${name} answer`, answerSchema(answer)) } }),
    ...(csv === undefined ? {} : { "text/csv": { schema: { type: "string" } } }),
  };
  const success = { description: "Success.", ...(Object.keys(content).length === 0 ? {} : { content }) };
  return {
    operationId: operationId(method, path),
    summary: SUMMARIES.get(name) ?? `${name}.`,
    ...(is_deprecated ? { deprecated: true } : {}),
    "x-origin": SUMMARIES.has(name) ? "document" : "ours",
    "x-scopes": [...scopes],
    ...(inPath.length + inQuery.length === 0 ? {} : { parameters: [...inPath, ...inQuery] }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: { "application/json": { schema: marked(`${name} body`, schemaOf(body, "input")) } },
          },
        }),
    responses: {
      [status]: success,
      ...(again === undefined || again === status ? {} : { [again]: { ...success, description: "It is so already." } }),
      "4XX": {
        description: "Error.",
        content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
      },
    },
  };
}

/** Returns a name such as getBoothsIdHistory. */
function operationId(method: string, path: string): string {
  const words = path.replace("/api/", "").split(/[^A-Za-z]+/);
  return (
    method.toLowerCase() +
    words
      .filter(Boolean)
      .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
      .join("")
  );
}

function parameter(name: string, place: "path" | "query", origin: Origin): Json {
  return { name, in: place, required: place === "path", "x-origin": origin, schema: { type: "string" } };
}

/** Returns the JSON schema of a shape, with references to named shapes. `own`: returns the definition of that name. */
function schemaOf(shape: z.ZodType, io: "input" | "output", own?: string): Json {
  const made: unknown = z.toJSONSchema(shape, { io, unrepresentable: "any", metadata: registry });
  const schema = JSON.parse(JSON.stringify(made).replaceAll("#/$defs/", "#/components/schemas/")) as Json;
  if (own !== undefined) return objectIn(objectIn(schema, "$defs"), own);
  delete schema["$schema"];
  delete schema["$defs"];
  return schema;
}

/** Returns the schema of an answer. A reader accepts additional fields, so that a service may add some. */
function answerSchema(shape: z.ZodType, own?: string): Json {
  return open(schemaOf(shape, "output", own));
}

/** Returns the schema of a message whose reader ignores unknown fields. */
function open(schema: Json): Json {
  return JSON.parse(JSON.stringify(schema).replaceAll(',"additionalProperties":false', "")) as Json;
}

/** Adds the origin to each property. */
function marked(place: string, schema: Json): Json {
  return mapProperties(schema, (path, property) => ({ "x-origin": originOf(place, path), ...property }));
}

/** Returns the OpenAPI document of the box. A name that the service's document has too has the same origin. */
export function boxDocument(service: Json): Json {
  const document = JSON.parse(JSON.stringify(openApi(BOX, VERSION))) as Json;
  delete document["x-operations"];
  const info = objectIn(document, "info");
  info["license"] = LICENSE;
  info["description"] = `${String(info["description"])} ${ORIGINS}`;
  document["servers"] = [{ url: "http://127.0.0.1:8470" }];
  for (const [path, methods] of Object.entries(objectIn(document, "paths"))) {
    for (const [method, operation] of Object.entries(methods as Json)) {
      const name = `${method.toUpperCase()} ${path}`;
      const of = operation as Json;
      of["operationId"] = operationId(method, path);
      const parameters = (of["parameters"] ?? []) as Json[];
      for (const one of parameters)
        one["x-origin"] = one["in"] === "path" ? "document" : originOf(`${name} query`, String(one["name"]));
      const component = componentOf(service, path, method);
      for (const part of ["requestBody", "responses"] as const)
        if (of[part] !== undefined)
          of[part] = mapSchemas(of[part] as Json, (schema) =>
            stripped(marked(part === "requestBody" ? `${name} body` : component, schema)),
          );
    }
  }
  return document;
}

function componentOf(service: Json, path: string, method: string): string {
  const text = JSON.stringify(objectIn(objectIn(objectIn(service, "paths"), path), method)["responses"] ?? {});
  return /#\/components\/schemas\/(\w+)/.exec(text)?.[1] ?? "";
}

function stripped(schema: Json): Json {
  delete schema["$schema"];
  return schema;
}

/** Replaces each "schema" inside an operation's part. */
function mapSchemas(part: Json, change: (schema: Json) => Json): Json {
  return Object.fromEntries(
    Object.entries(part).map(([key, value]) => {
      if (kindOf(value) !== "object") return [key, value];
      return [key, key === "schema" ? change(value as Json) : mapSchemas(value as Json, change)];
    }),
  );
}

/** Returns the JSON Schema files, by name. */
export function messageSchemas(): Readonly<Record<string, Json>> {
  return Object.fromEntries(
    MESSAGES.map(({ name, summary, shape }) => [
      name,
      open({
        title: name,
        description: summary,
        ...(z.toJSONSchema(shape, { io: "input", target: "draft-7" }) as Json),
      }),
    ]),
  );
}

/** Returns the AsyncAPI document of the session over MQTT, as the gateway sees it. */
export function sessionDocument(): Json {
  const onTopics = MESSAGES.filter(({ topic }) => topic !== undefined);
  const idOf = (topic: string): string => topic.replace(/\W(\w)/g, (_, letter: string) => letter.toUpperCase());
  const channels = onTopics.map(({ name, topic = "" }) => [
    idOf(topic),
    {
      address: `bg/v1/{gateway_id}/${topic}`,
      parameters: { gateway_id: { description: "Id of the gateway, also its user name and client id." } },
      messages: { [name]: { $ref: `#/components/messages/${name}` } },
    },
  ]);
  const operations = onTopics.map(({ topic = "", summary, is_retained, answer }) => [
    (topic.startsWith("up/") ? "send" : "receive") + idOf(topic).replace(/^(up|down)/, ""),
    {
      action: topic.startsWith("up/") ? "send" : "receive",
      channel: { $ref: `#/channels/${idOf(topic)}` },
      summary,
      bindings: { mqtt: { qos: 1, retain: is_retained ?? false } },
      ...(answer === undefined ? {} : { reply: { channel: { $ref: `#/channels/${idOf(answer)}` } } }),
    },
  ]);
  const messages = onTopics.map(({ name, summary, encoding }) => [
    name,
    {
      name,
      summary,
      contentType: encoding === "binary" ? "application/octet-stream" : "application/json",
      ...(encoding === undefined ? {} : { description: `Encoding: ${encoding}.` }),
      ...(encoding === "binary"
        ? { payload: { type: "string", format: "binary" }, "x-header": { $ref: `./schemas/${name}.json` } }
        : { payload: { $ref: `./schemas/${name}.json` } }),
    },
  ]);
  return {
    asyncapi: "3.0.0",
    info: {
      title: "Session between gateway and service",
      version: VERSION,
      license: LICENSE,
      description: "MQTT 5 or 3.1.1, QoS 1, clean session. The service answers each batch and chunk after its commit.",
    },
    defaultContentType: "application/json",
    servers: {
      broker: {
        host: "broker.example:8883",
        protocol: "secure-mqtt",
        protocolVersion: "5",
        security: [{ $ref: "#/components/securitySchemes/credential" }],
        bindings: { mqtt: { cleanSession: true, keepAlive: 30 } },
      },
    },
    channels: Object.fromEntries(channels) as Json,
    operations: Object.fromEntries(operations) as Json,
    components: {
      messages: Object.fromEntries(messages) as Json,
      securitySchemes: {
        credential: { type: "userPassword", description: "User: gateway id. Password: the gateway's credential." },
      },
    },
  };
}
