import { localHelpShape } from "../wire/local.ts";
import { jsonOf } from "./json-body.ts";
import { bad, type LocalAnswer, type LocalRequest } from "./routes.ts";
import type { Services } from "./services.ts";
import { supportReport } from "./support-report.ts";

/** POST /api/help: keeps the question with a report of the box's state, for whoever comes to help. */
export async function routeHelp({ body }: LocalRequest, services: Services): Promise<LocalAnswer> {
  if (services.help === undefined) return { status: 501, body: { error: "this agent keeps no reports" } };
  const parsed = localHelpShape.safeParse(jsonOf(body));
  if (!parsed.success) return bad("subject is needed, up to 200 characters; message up to 4000");
  const report = { ...parsed.data, ...supportReport(services) };
  return { status: 201, body: { id: await services.help.store(`${JSON.stringify(report, null, 2)}\n`) } };
}
