import type { ServiceAnswer } from "../domain/service.ts";
import { localFieldsShape, type BoothFieldValues } from "../contract/booth-fields.ts";
import { jsonOf } from "./json-body.ts";
import { bad, boothOf, type LocalAnswer, type LocalRequest } from "./routes.ts";
import type { BoothFieldsAtService, Services } from "./services.ts";

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
  const { booth_id: id = null, generation = null } =
    control.status().booths.find((one) => one.booth === booth)?.provisioning ?? {};
  if (id === null) {
    const error =
      generation === null
        ? `${booth} isn't bound yet: the service doesn't know it`
        : `this service shows no id of ${booth}: size and brand can't be asked for without one`;
    return { status: 409, body: { error } };
  }
  // What is read here is what the box answers with from now on, also while the service is away.
  const seen = watching(fields, (sizes) => control.sawSizes(booth, sizes));
  if (method === "GET") return told(await seen.read(id));
  const parsed = localFieldsShape.safeParse(jsonOf(body));
  if (method !== "PUT" || !parsed.success) return bad("PUT {read, fields}: each up to 60 characters, at least one");
  return change(seen, id, parsed.data);
}

function watching(desk: BoothFieldsAtService, saw: (sizes: BoothFieldValues) => Promise<void>): BoothFieldsAtService {
  return {
    ...desk,
    async read(id) {
      const answer = await desk.read(id);
      if (answer.kind === "ok") await saw(answer.value);
      return answer;
    },
  };
}

interface Wanted {
  readonly read: Readonly<Record<string, string | null | undefined>>;
  readonly fields: Readonly<Record<string, string | undefined>>;
}

async function change(desk: BoothFieldsAtService, id: string, { read, fields }: Wanted): Promise<LocalAnswer> {
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
