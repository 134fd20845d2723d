import { CONTRACT } from "../http/contract-table.ts";
import type { ContractRow } from "../http/contract-table.ts";
import type { Operation } from "../http/operation.ts";

const ERROR = { type: "object", required: ["error"], properties: { error: { type: "string" } } };

/** The OpenAPI document of what is built; `x-operations` says of how many. */
export function openApi(operations: readonly Operation[]): Record<string, unknown> {
  const built = new Set(operations.map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}`));
  const shown = CONTRACT.filter(({ method, path }) => built.has(`${method} ${path}`));
  const paths: Record<string, Record<string, unknown>> = {};
  for (const row of shown) (paths[row.path] ??= {})[row.method.toLowerCase()] = operationObject(row);
  return {
    openapi: "3.1.0",
    info: { title: "Booth Monitoring Service (reference)", version: "1" },
    "x-operations": { total: CONTRACT.length, built: shown.length },
    components: { securitySchemes: { key: { type: "apiKey", in: "header", name: "Authorization" } } },
    security: [{ key: [] }],
    paths,
  };
}

function operationObject({ path, scopes, is_deprecated }: ContractRow): Record<string, unknown> {
  const failure = { description: "error", content: { "application/json": { schema: ERROR } } };
  const parameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  return {
    ...(is_deprecated ? { deprecated: true } : {}),
    "x-scopes": scopes,
    parameters,
    responses: { "2XX": { description: "success" }, "4XX": failure },
  };
}
