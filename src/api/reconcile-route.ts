import type { AgentControl } from "../domain/agent-control.ts";
import { localReconcileShape } from "../contract/local.ts";
import { jsonOf } from "./json-body.ts";
import { bad, boothOf, type LocalAnswer, type LocalRequest } from "./routes.ts";

/**
 * POST /reconcile {booth, day} begins a comparison with the service (202 with its id, or 409 with the reason), GET with this id tells
 * how it stands, without one how the last one does.
 */
export function routeReconcile(request: LocalRequest, query: URLSearchParams, control: AgentControl): LocalAnswer {
  if (request.method === "GET") return stand(control, query.get("booth") ?? undefined, query.get("id"));
  const parsed = localReconcileShape.safeParse(request.body === "" ? {} : jsonOf(request.body));
  if (request.method !== "POST" || !parsed.success)
    return bad("POST {booth, day} begins a comparison, day as YYYY-MM-DD");
  const booth = boothOf(control, parsed.data.booth);
  if (booth === null) return unnamed();
  try {
    return { ...stand(control, booth, control.reconcile(booth, parsed.data.day ?? null)), status: 202 };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { status: 409, body: { error: error.message } };
  }
}

function stand(control: AgentControl, named: string | undefined, id: string | null): LocalAnswer {
  const booth = boothOf(control, named);
  const found = control.status().booths.find((one) => one.booth === booth);
  if (booth === null || found === undefined) return unnamed();
  if (id === null) return { status: 200, body: found.reconciliation ?? { kind: "none" } };
  const asked = control.reconciliation(booth, id);
  if (asked !== null) return { status: 200, body: asked };
  return { status: 404, body: { error: "no such comparison is known, or no longer: begin another" } };
}

function unnamed(): LocalAnswer {
  return bad("name the booth: this gateway serves several, or none of that name");
}
