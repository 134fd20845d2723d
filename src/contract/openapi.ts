import { z } from "zod";
import { ANSWERS } from "./answers.ts";
import { BODIES } from "./local.ts";
import { SERVICE_OPERATIONS, type ServedOperation } from "./operations.ts";

const ERROR = {
  type: "object",
  required: ["error"],
  properties: { error: { type: "string" }, said: { type: "object" } },
};
/** The query parameter that each operation with a JSON answer has. */
const SAID = {
  ...parameter("said", "query"),
  description:
    "true: each object with a sentence of the gateway (reason, advice, error ...) also gets `said`. By field name, `said` has the sentence as {code, args, text} for translation. Sentences of other systems are not included.",
};

/** Returns the content of `/api/openapi.json`: the service's operations that this box serves, and how many operations the service has. */
export function openApi(operations: readonly ServedOperation[], version: string): Record<string, unknown> {
  const served = operations.filter((one) =>
    SERVICE_OPERATIONS.some(({ method, path }) => method === one.method && path === one.path),
  );
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of served) (paths[operation.path] ??= {})[operation.method.toLowerCase()] = objectOf(operation);
  return {
    openapi: "3.1.0",
    info: {
      title: "booth-gateway, local API",
      version,
      description:
        "The service's operations for the booths of this box, in the service's shapes. Over loopback, GET of figures needs no key. Readings and all other operations need a session from POST /api/authenticate with the PIN that `booth-gateway page` prints.",
    },
    "x-operations": { total: SERVICE_OPERATIONS.length, served: served.length },
    components: { securitySchemes: { session: { type: "apiKey", in: "header", name: "Authorization" } } },
    paths,
  };
}

function objectOf(operation: ServedOperation): Record<string, unknown> {
  const { path, summary, query, body, answer, status, already, deprecated, access } = operation;
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => parameter(name, "path"));
  const content =
    answer === "csv"
      ? { "text/csv": { schema: { type: "string" } } }
      : inJson(schemaOf(answer === undefined ? z.looseObject({}) : ANSWERS[answer], "output"));
  return {
    summary,
    ...(deprecated === undefined ? {} : { deprecated }),
    security: access === "session" ? [{ session: [] }] : [],
    parameters: [...inPath, ...query.map((name) => parameter(name, "query")), ...(answer === "csv" ? [] : [SAID])],
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: inJson(schemaOf(BODIES[body].shape, "input")) } }),
    responses: {
      [status]: { description: "success", content },
      ...(already === undefined ? {} : { [already]: { description: "it is so already", content } }),
      "4XX": { description: "error", content: inJson(ERROR) },
    },
  };
}

function inJson(schema: unknown): Record<string, unknown> {
  return { "application/json": { schema } };
}

function schemaOf(shape: z.ZodType, io: "input" | "output"): unknown {
  return z.toJSONSchema(shape, { io, unrepresentable: "any" });
}

function parameter(name: string | undefined, place: "path" | "query"): Record<string, unknown> {
  return { name, in: place, required: place === "path", schema: { type: "string" } };
}
