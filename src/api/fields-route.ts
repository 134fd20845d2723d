import type { ServiceAnswer } from "../core/types/service.ts";
import { localFieldsShape, type BoothFieldValues } from "../wire/booth-fields.ts";
import { jsonOf } from "./json-body.ts";
import { bad, boothOf, type LocalAnswer, type LocalRequest } from "./routes.ts";
import type { BoothFieldsDesk, Services } from "./services.ts";

/**
 * GET /booth_fields reads size and brand of a booth from the service; PUT changes those that differ from what was read, if
 * nobody else has changed them meanwhile (409), and reads them back. 503: the service can't be asked now.
 */
export async function routeFields(
  { method, body }: LocalRequest,
  query: URLSearchParams,
  { control, fields }: Services,
): Promise<LocalAnswer> {
  if (fields === undefined) return { status: 501, body: { error: "this agent doesn't ask the service for them" } };
  const booth = boothOf(control, query.get("booth") ?? undefined);
  if (booth === null) return bad("name the booth: this gateway serves several, or none of that name");
  const id = control.status().booths.find((one) => one.booth === booth)?.provisioning.booth_id ?? null;
  if (id === null) return { status: 409, body: { error: `${booth} isn't bound yet: the service doesn't know it` } };
  if (method === "GET") return told(await fields.read(id));
  const parsed = localFieldsShape.safeParse(jsonOf(body));
  if (method !== "PUT" || !parsed.success) return bad("PUT {read, fields}: each up to 60 characters, at least one");
  return change(fields, id, parsed.data);
}

interface Wanted {
  readonly read: Readonly<Record<string, string | null | undefined>>;
  readonly fields: Readonly<Record<string, string | undefined>>;
}

async function change(desk: BoothFieldsDesk, id: string, { read, fields }: Wanted): Promise<LocalAnswer> {
  const before = await desk.read(id);
  if (before.kind !== "ok") return told(before);
  const now: Readonly<Record<string, string | null>> = before.value;
  const moved = Object.keys(fields).filter((name) => (now[name] ?? null) !== (read[name] ?? null));
  if (moved.length > 0) {
    const names = moved.join(", ");
    return { status: 409, body: { error: `somebody else has changed ${names} meanwhile: read them again` } };
  }
  const wanted = Object.fromEntries(Object.entries(fields).filter((entry) => entry[1] !== undefined));
  const written = await desk.write(id, wanted as Readonly<Record<string, string>>);
  return written.kind === "ok" ? told(await desk.read(id)) : told(written);
}

function told(answer: ServiceAnswer<BoothFieldValues>): LocalAnswer {
  switch (answer.kind) {
    case "ok":
      return { status: 200, body: { fields: answer.value } };
    case "not_found":
      return { status: 404, body: { error: "the service doesn't know this booth any more" } };
    case "conflict":
      return { status: 409, body: { error: answer.reason } };
    case "denied":
      return { status: 403, body: { error: `the service refuses: ${answer.reason}` } };
    case "reject":
      return { status: 400, body: { error: answer.reason } };
    case "keep":
      return { status: 503, body: { error: answer.reason } };
  }
}
