import type { AgentControl } from "../ports.ts";
import { localReconcileShape } from "../wire/local.ts";
import { jsonOf } from "./json-body.ts";
import { bad, boothOf, type LocalAnswer, type LocalRequest } from "./routes.ts";

/** POST /reconcile {booth, day} begins a comparison with the service (202, or 409 with the reason), GET tells how it stands. */
export function routeReconcile(request: LocalRequest, query: URLSearchParams, control: AgentControl): LocalAnswer {
  if (request.method === "GET") return stand(control, query.get("booth") ?? undefined);
  const parsed = localReconcileShape.safeParse(request.body === "" ? {} : jsonOf(request.body));
  if (request.method !== "POST" || !parsed.success)
    return bad("POST {booth, day} begins a comparison, day as YYYY-MM-DD");
  const booth = boothOf(control, parsed.data.booth);
  if (booth === null) return unnamed();
  try {
    control.reconcile(booth, parsed.data.day ?? null);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { status: 409, body: { error: error.message } };
  }
  return { ...stand(control, booth), status: 202 };
}

function stand(control: AgentControl, named: string | undefined): LocalAnswer {
  const booth = boothOf(control, named);
  const found = control.status().booths.find((one) => one.booth === booth);
  return found === undefined ? unnamed() : { status: 200, body: found.reconciliation ?? { kind: "none" } };
}

function unnamed(): LocalAnswer {
  return bad("name the booth: this gateway serves several, or none of that name");
}
