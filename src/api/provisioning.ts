import { message } from "../domain/message.ts";
import type { BoothFieldValues } from "../contract/booths.ts";
import type { BodyOf } from "../contract/local.ts";
import { provisioningBody } from "../contract/reports-fleet.ts";
import type { AgentControl } from "../domain/agent-control.ts";
import { PLAIN_GENERATION, WRONG_SERIAL } from "../domain/provisioning.ts";
import { normalizeSerial } from "../domain/booth.ts";
import type { ServiceAnswer } from "../domain/service.ts";
import { findBooth, localBooths } from "./report.ts";
import {
  type BoothFieldsAtService,
  boothOf,
  type Call,
  type LocalAnswer,
  needed,
  ok,
  Refusal,
  type Services,
  type Channel,
} from "./operation.ts";

/** Enters a serial number. Returns 202 if the binding has started, or 200 if the booth is already bound under this number. */
export async function enterSerial(call: Call<BodyOf<"claim">>, { control }: Services): Promise<LocalAnswer> {
  const { serial_number, booth: named, api_key, confirm: confirmed } = call.body();
  const serial = normalizeSerial(serial_number);
  if (serial === null) throw new Refusal(400, message("ask.serial"));
  const { booth, serial: bound, provisioning } = boothOf(control, named);
  if (bound !== null && bound !== serial && provisioning.generation !== null) {
    throw new Refusal(409, message("ask.bound", { booth, bound, serial }));
  }
  if (api_key !== undefined && call.channel !== "admin") rootForKey(control, booth);
  if (api_key !== undefined) await control.giveKey(api_key);
  await control.enterSerial(booth, serial, confirmed ?? null);
  const record = recordOf(control, booth);
  return ok(record, record?.status === "provisioned" ? 200 : 202);
}

export async function confirm(call: Call<BodyOf<"confirm">>, { control }: Services): Promise<LocalAnswer> {
  const { booth: named, ...confirmation } = call.body();
  const { booth } = boothOf(control, named);
  await control.confirm(booth, confirmation);
  return ok({ booth }, 202);
}

export async function release(call: Call<BodyOf<"release">>, { control }: Services): Promise<LocalAnswer> {
  const { booth: named, to, wrong_serial } = call.body();
  const { booth } = boothOf(control, named);
  onlyRootDecommissions(to, call.channel);
  await control.leave(booth, { to, reason: wrong_serial ? WRONG_SERIAL : "given up on the spot" });
  return ok({ booth }, 202);
}

/** Changes the binding of the booth with this serial number. The service has the same operation. */
export async function changeBinding(call: Call<BodyOf<"binding">>, { control }: Services): Promise<LocalAnswer> {
  const serial = normalizeSerial(call.params["serial_number"] ?? "");
  const found = control.status().booths.find((one) => one.serial !== null && one.serial === serial);
  if (found === undefined) throw new Refusal(404, message("ask.not_here"));
  const { status: to, reason = "given up on the spot", completion_status } = call.body();
  onlyRootDecommissions(to, call.channel);
  if (to === undefined) return completion(recordOf(control, found.booth), completion_status);
  await control.leave(found.booth, { to, reason });
  return ok(recordOf(control, found.booth), 202);
}

/** Answers a request to change the completion status. It changes nothing: the gateway itself completes a binding, which can't be undone. */
function completion(record: BindingRecord | null, wanted: string | undefined): LocalAnswer {
  if (record?.completion_status === wanted) return ok(record);
  if (wanted === "COMPLETE") return ok(record, 202);
  throw new Refusal(409, message("ask.is_complete"));
}

type BindingRecord = ReturnType<typeof provisioningBody>;

/** Returns the fields of the service's provisioning record that the box knows. */
function recordOf(control: AgentControl, booth: string): BindingRecord | null {
  const found = findBooth(localBooths(control.status()), booth);
  return found === undefined ? null : provisioningBody(found);
}

/**
 * Throws a Refusal if only root may enter a new key, because the key of a bound booth would be replaced. Without `booth`, any bound booth
 * counts. So does one at a service without generations, where all booths share a key.
 */
export function rootForKey(control: AgentControl, booth?: string): void {
  const isInForce = localBooths(control.status()).some(
    (one) =>
      provisioningBody(one).status === "provisioned" &&
      (booth === undefined || one.booth === booth || one.generation === PLAIN_GENERATION),
  );
  // Allows only root to replace a key in use. A replacement can't be undone remotely, and could give others access to the service.
  if (isInForce) throw new Refusal(403, message("ask.root_key"));
}

function onlyRootDecommissions(to: string | undefined, channel: Channel): void {
  if (to !== "decommissioned" || channel === "admin") return;
  // Allows only root to decommission a booth, not the socket's group nor a person with a PIN, because it can't be undone remotely.
  throw new Refusal(403, message("ask.root_decommission"));
}

/** Reads a booth's size and brand from the service. Returns 503 if the service can't be reached. */
export async function readFields({ query }: Call, services: Services): Promise<LocalAnswer> {
  const { id, fields } = fieldsOf(query["booth"], services);
  return fieldsAnswer(await fields.read(id));
}

/**
 * Changes fields at the service and reads them back. Returns 409 if a field has changed since the sender read it. Otherwise answers like
 * `readFields`.
 */
export async function changeFields(call: Call<BodyOf<"booth_fields">>, services: Services): Promise<LocalAnswer> {
  const { id, fields: at_service } = fieldsOf(call.query["booth"], services);
  const { read, fields } = call.body();
  const before = await at_service.read(id);
  if (before.kind !== "ok") return fieldsAnswer(before);
  const now: Readonly<Record<string, string | null>> = before.value;
  const moved = Object.keys(fields).filter((name) => (now[name] ?? null) !== (read[name] ?? null));
  if (moved.length > 0) throw new Refusal(409, message("ask.moved", { fields: moved.join(", ") }));
  const wanted = Object.fromEntries(Object.entries(fields).filter((entry) => entry[1] !== undefined));
  const written = await at_service.write(id, wanted as Readonly<Record<string, string>>);
  return fieldsAnswer(written.kind === "ok" ? await at_service.read(id) : written);
}

/**
 * Returns the booth's id at the service, with access to the booth's fields. The agent stores what is read, to show it while the service is
 * unreachable.
 */
function fieldsOf(
  named: string | undefined,
  { control, fields: service }: Services,
): { readonly id: string; readonly fields: BoothFieldsAtService } {
  const fields = needed(service, message("ask.lacks.fields"));
  const { booth, provisioning } = boothOf(control, named);
  const { booth_id: id, generation } = provisioning;
  if (id === null) {
    throw new Refusal(409, generation === null ? message("ask.not_bound", { booth }) : message("ask.no_id", { booth }));
  }
  const read: BoothFieldsAtService["read"] = async (asked) => {
    const answer = await fields.read(asked);
    if (answer.kind === "ok") await control.sawSizes(booth, answer.value);
    return answer;
  };
  return { id, fields: { ...fields, read } };
}

const STATUS = { conflict: 409, denied: 403, reject: 400, keep: 503 } as const;

function fieldsAnswer(answer: ServiceAnswer<BoothFieldValues>): LocalAnswer {
  if (answer.kind === "ok") return ok({ fields: answer.value });
  if (answer.kind === "not_found") throw new Refusal(404, message("ask.forgotten"));
  const { kind, reason } = answer;
  throw new Refusal(STATUS[kind], kind === "denied" ? message("ask.refused", { reason }) : reason);
}
