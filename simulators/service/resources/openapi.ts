import { z } from "zod";
import { CONTRACT, type ContractRow } from "../http/contract-table.ts";
import type { Operation } from "../http/operation.ts";

const ERROR = { type: "object", required: ["error"], properties: { error: { type: "string" } } };

/** The OpenAPI document of what is built; `x-operations` says of how many. */
export function openApi(operations: readonly Operation[]): Record<string, unknown> {
  const built = new Map(
    operations.map(({ method, path, body }) => [`${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}`, body]),
  );
  const shown = CONTRACT.filter(({ method, path }) => built.has(`${method} ${path}`));
  const paths: Record<string, Record<string, unknown>> = {};
  for (const row of shown)
    (paths[row.path] ??= {})[row.method.toLowerCase()] = {
      ...operationObject(row),
      ...requestBody(built.get(`${row.method} ${row.path}`)),
    };
  return {
    openapi: "3.1.0",
    info: { title: "Booth Monitoring Service (reference)", version: "1" },
    "x-operations": { total: CONTRACT.length, built: shown.length },
    components: { securitySchemes: { key: { type: "apiKey", in: "header", name: "Authorization" } } },
    security: [{ key: [] }],
    paths,
  };
}

function operationObject({ path, scopes, is_deprecated, query, ...exchange }: ContractRow): Record<string, unknown> {
  const failure = { description: "error", content: { "application/json": { schema: ERROR } } };
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => parameter(name, "path"));
  const { status, again = status } = exchange;
  const answers = Object.fromEntries([status, again].map((code) => [code, success(exchange)]));
  return {
    ...(is_deprecated ? { deprecated: true } : {}),
    "x-scopes": scopes,
    parameters: [...inPath, ...query.map((name) => parameter(name, "query"))],
    responses: { ...answers, "4XX": failure },
  };
}

function requestBody(body: z.ZodType | undefined): Record<string, unknown> {
  if (body === undefined) return {};
  const schema = z.toJSONSchema(body, { io: "input", unrepresentable: "any" });
  return { requestBody: { required: true, content: { "application/json": { schema } } } };
}

function parameter(name: string | undefined, place: "path" | "query"): Record<string, unknown> {
  return { name, in: place, required: place === "path", schema: { type: "string" } };
}

function success({ answer, csv }: Pick<ContractRow, "answer" | "csv">): Record<string, unknown> {
  const json = answer === undefined ? {} : { "application/json": { schema: z.toJSONSchema(answer) } };
  const text = csv === undefined ? {} : { "text/csv": { schema: { type: "string" } } };
  return {
    description: "success",
    ...(answer === undefined && csv === undefined ? {} : { content: { ...json, ...text } }),
  };
}
