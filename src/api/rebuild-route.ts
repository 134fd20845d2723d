import { localRebuildShape } from "../wire/local.ts";

import type { AgentControl, Rebuilds } from "../ports.ts";
import { jsonOf } from "./json-body.ts";
import { bad, boothOf, type LocalAnswer, type LocalRequest } from "./routes.ts";

/** POST /rebuild starts a rebuild (202, or 409 with the reason), GET /rebuild tells how the last one stands. */
export async function routeRebuild(
  request: LocalRequest,
  query: URLSearchParams,
  { control, rebuilds }: { readonly control: AgentControl; readonly rebuilds?: Rebuilds },
): Promise<LocalAnswer> {
  if (rebuilds === undefined) return { status: 501, body: { error: "this agent can't rebuild" } };
  if (request.method === "GET") {
    const stream = streamOf(control, query.get("booth") ?? undefined);
    if (stream === null) return unnamed();
    return { status: 200, body: (await rebuilds.progress(stream)) ?? { kind: "none" } };
  }
  const parsed = localRebuildShape.safeParse(request.body === "" ? {} : jsonOf(request.body));
  if (request.method !== "POST" || !parsed.success) return bad("POST {booth, current} starts a rebuild");
  const stream = streamOf(control, parsed.data.booth);
  if (stream === null) return unnamed();
  try {
    return { status: 202, body: await rebuilds.start(stream, parsed.data.current) };
  } catch (error) {
    return { status: 409, body: { error: error instanceof Error ? error.message : String(error) } };
  }
}

function unnamed(): LocalAnswer {
  return bad("name the booth: this gateway serves several, or none of that name");
}

function streamOf(control: AgentControl, named: string | undefined): string | null {
  const booth = boothOf(control, named);
  return control.status().booths.find((one) => one.booth === booth)?.stream ?? null;
}
