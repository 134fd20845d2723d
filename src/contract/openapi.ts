import { z } from "zod";
import { ANSWERS } from "./answers.ts";
import { OPERATIONS, type LocalOperation, type Operation } from "./operations.ts";
import { localAuthenticateShape, localClaimShape, localHelpShape, localUpdateShape } from "./local.ts";

const ERROR = { type: "object", required: ["error"], properties: { error: { type: "string" } } };

const BODIES: Readonly<Record<string, z.ZodType>> = {
  "POST /api/booths_provisioning": localClaimShape,
  "PUT /api/booths_provisioning/{serial_number}": localUpdateShape,
  "POST /api/help": localHelpShape,
  "POST /api/authenticate": localAuthenticateShape,
};

/** `/api/openapi.json`: the operations that this box serves, from the table of operations; the others are counted. */
export function openApi(version: string): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const { method, path, local } of OPERATIONS) {
    if (local !== null) (paths[path] ??= {})[method.toLowerCase()] = operationObject({ method, path }, local);
  }
  const served = OPERATIONS.filter(({ local }) => local !== null).length;
  return {
    openapi: "3.1.0",
    info: {
      title: "booth-gateway, local API",
      version,
      description:
        "The service's operations for the booths of this box, in the service's shapes. Over loopback GET of figures needs no key; readings and all else need a session from POST /api/authenticate with the PIN that `booth-gateway page` prints.",
    },
    "x-operations": { total: OPERATIONS.length, served },
    components: { securitySchemes: { session: { type: "apiKey", in: "header", name: "Authorization" } } },
    paths,
  };
}

function operationObject(
  { method, path }: Pick<Operation, "method" | "path">,
  { summary, query, status, already, type, readings, deprecated }: LocalOperation,
): Record<string, unknown> {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => parameter(name, "path"));
  const body = BODIES[`${method} ${path}`];
  const answer = ANSWERS[`${method} ${path}`] ?? z.looseObject({});
  const content =
    type === "csv"
      ? { "text/csv": { schema: { type: "string" } } }
      : { "application/json": { schema: schemaOf(answer, "output") } };
  const needsSession = (method !== "GET" || readings === true) && path !== "/api/authenticate";
  return {
    summary,
    ...(deprecated === undefined ? {} : { deprecated }),
    security: needsSession ? [{ session: [] }] : [],
    parameters: [...inPath, ...query.map((name) => parameter(name, "query"))],
    ...(body === undefined ? {} : { requestBody: bodyObject(body) }),
    responses: {
      [status]: { description: "success", content },
      ...(already === undefined ? {} : { [already]: { description: "it is so already", content } }),
      "4XX": { description: "error", content: { "application/json": { schema: ERROR } } },
    },
  };
}

function bodyObject(shape: z.ZodType): Record<string, unknown> {
  return { required: true, content: { "application/json": { schema: schemaOf(shape, "input") } } };
}

function schemaOf(shape: z.ZodType, io: "input" | "output"): unknown {
  return z.toJSONSchema(shape, { io, unrepresentable: "any" });
}

function parameter(name: string | undefined, place: "path" | "query"): Record<string, unknown> {
  return { name, in: place, required: place === "path", schema: { type: "string" } };
}
