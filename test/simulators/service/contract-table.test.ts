import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { CONTRACT } from "../../../simulators/service/http/contract-table.ts";
import { openApi } from "../../../simulators/service/resources/openapi.ts";
import { OPERATIONS } from "../../../simulators/service/resources/table.ts";

/** "GET, POST /api/accounts" of the document's table, as pairs. */
function pairsOfDocument(): string[] {
  const text = readFileSync(new URL("../../../docs/service-contract.md", import.meta.url), "utf8");
  const lines = [...text.matchAll(/^\| `((?:[A-Z]+(?:, )?)+) (\/api\/[^`]+)` +\|$/gm)];
  return lines.flatMap(([, methods = "", path = ""]) => methods.split(", ").map((method) => `${method} ${path}`));
}

describe("the table of operations", () => {
  it("has the 75 of the interface document, no more and no less", () => {
    const document = pairsOfDocument();
    expect(document).toHaveLength(75);
    const table = CONTRACT.map(({ method, path }) => `${method} ${path}`);
    expect([...table].sort()).toEqual([...document].sort());
    expect(new Set(table).size).toBe(75);
  });

  it("lists in the OpenAPI document what is built, and counts it", () => {
    const document = openApi(OPERATIONS) as { paths: Record<string, Record<string, object>>; "x-operations": object };
    const listed = Object.values(document.paths).flatMap((path) => Object.keys(path));
    expect(document["x-operations"]).toEqual({ total: 75, built: 75 });
    expect(listed).toHaveLength(75);
    expect(OPERATIONS).toHaveLength(75);
  });

  it("says in the document that a claim repeated is answered with 200", () => {
    const document = openApi(OPERATIONS) as { paths: Record<string, Record<string, { responses: object }>> };
    const answers = document.paths["/api/booths_provisioning"]?.["post"]?.responses ?? {};
    expect(Object.keys(answers)).toEqual(["200", "201", "4XX"]);
  });

  it("says in the document what each body is to be", () => {
    const document = openApi(OPERATIONS) as { paths: Record<string, Record<string, { requestBody?: object }>> };
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
});
