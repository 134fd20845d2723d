import type { BoothFieldValues } from "../contract/booths.ts";
import type { BodyOf } from "../contract/local.ts";
import { provisioningBody } from "../contract/reports-fleet.ts";
import type { AgentControl } from "../domain/agent-control.ts";
import { PLAIN_GENERATION, WRONG_SERIAL } from "../domain/provisioning.ts";
import { normaliseSerial } from "../domain/booth.ts";
import type { ServiceAnswer } from "../domain/service.ts";
import { findBooth, localBooths } from "./report.ts";
import { type BoothFieldsAtService, boothOf, type Call, type LocalAnswer, needed, Refusal } from "./operation.ts";
import type { Services, Way } from "./operation.ts";
import { say } from "../domain/sentences.ts";

/** 202: it is under way; 200: the booth is bound under that number already. */
export async function enterSerial(call: Call<BodyOf<"claim">>, { control }: Services): Promise<LocalAnswer> {
  const { serial_number, booth: named, api_key, confirm: confirmed } = call.body();
  const serial = normaliseSerial(serial_number);
  if (serial === null) {
    throw new Refusal(400, say("ask.serial"));
  }
  const { booth, serial: bound, provisioning } = boothOf(control, named);
  if (bound !== null && bound !== serial && provisioning.generation !== null) {
    throw new Refusal(409, say("ask.bound", { booth, bound, serial }));
  }
  if (api_key !== undefined && isKeyInForce(control, booth) && call.way !== "admin") {
    throw rootAlone("changing the key of a bound booth", "provision SERIAL --key-file FILE");
  }
  if (api_key !== undefined) await control.giveKey(api_key);
  await control.enterSerial(booth, serial, confirmed ?? null);
  const record = recordOf(control, booth);
  return { status: record?.status === "provisioned" ? 200 : 202, body: record };
}

export async function confirm(call: Call<BodyOf<"confirm">>, { control }: Services): Promise<LocalAnswer> {
  const { booth: named, ...confirmation } = call.body();
  const { booth } = boothOf(control, named);
  await control.confirm(booth, confirmation);
  return { status: 202, body: { booth } };
}

export async function release(call: Call<BodyOf<"release">>, { control }: Services): Promise<LocalAnswer> {
  const { booth: named, to, wrong_serial } = call.body();
  const { booth } = boothOf(control, named);
  onlyRootDecommissions(to, call.way);
  await control.leave(booth, { to, reason: wrong_serial ? WRONG_SERIAL : "given up on the spot" });
  return { status: 202, body: { booth } };
}

/** As the service's own operation takes it, for the booth of that serial number. */
export async function changeBinding(call: Call<BodyOf<"binding">>, { control }: Services): Promise<LocalAnswer> {
  const serial = normaliseSerial(call.params["serial_number"] ?? "");
  const found = control.status().booths.find((one) => one.serial !== null && one.serial === serial);
  if (found === undefined) throw new Refusal(404, "no booth of this box has that serial number");
  const { status: to, reason = "given up on the spot", completion_status } = call.body();
  onlyRootDecommissions(to, call.way);
  if (to === undefined) return completion(recordOf(control, found.booth), completion_status);
  await control.leave(found.booth, { to, reason });
  return { status: 202, body: recordOf(control, found.booth) };
}

/** The gateway itself completes a binding, and tells the service: said again it is so, or will be; it can't be taken back. */
function completion(record: BindingRecord | null, wanted: string | undefined): LocalAnswer {
  if (record?.completion_status === wanted) return { status: 200, body: record };
  if (wanted === "COMPLETE") return { status: 202, body: record };
  throw new Refusal(409, "the booth is bound and complete: to undo that, give it up with status released");
}

type BindingRecord = ReturnType<typeof provisioningBody>;

/** The record in the service's shape, as far as the box knows it. */
function recordOf(control: AgentControl, booth: string): BindingRecord | null {
  const found = findBooth(localBooths(control.status()), booth);
  return found === undefined ? null : provisioningBody(found);
}

/** A key given for a booth that is bound takes the place of one in force; at the plain level all booths share one. */
export function isKeyInForce(control: AgentControl, booth: string): boolean {
  return localBooths(control.status()).some(
    (one) =>
      provisioningBody(one).status === "provisioned" && (one.booth === booth || one.generation === PLAIN_GENERATION),
  );
}

/** What can't be undone from afar, or opens the service to somebody else, isn't for the socket's group, nor for who has a PIN. */
export function rootAlone(what: string, command: string): Refusal {
  return new Refusal(403, `${what} is for root alone: run it as root on the box ("sudo booth-gateway ${command}")`);
}

function onlyRootDecommissions(to: string | undefined, way: Way): void {
  if (to !== "decommissioned" || way === "admin") return;
  throw rootAlone("taking a booth out of service for good", "decommission");
}

/** Reads size and brand of a booth from the service. 503: it can't be asked now. */
export async function readFields({ query }: Call, services: Services): Promise<LocalAnswer> {
  const { id, fields } = bound(query["booth"], services);
  return told(await fields.read(id));
}

/**
 * Changes those that differ from what was read, if nobody else has changed them meanwhile (409), and reads them back. Answers as
 * reading does.
 */
export async function changeFields(call: Call<BodyOf<"booth_fields">>, services: Services): Promise<LocalAnswer> {
  const { id, fields: at_service } = bound(call.query["booth"], services);
  const { read, fields } = call.body();
  const before = await at_service.read(id);
  if (before.kind !== "ok") return told(before);
  const now: Readonly<Record<string, string | null>> = before.value;
  const moved = Object.keys(fields).filter((name) => (now[name] ?? null) !== (read[name] ?? null));
  if (moved.length > 0) {
    throw new Refusal(409, say("ask.moved", { fields: moved.join(", ") }));
  }
  const wanted = Object.fromEntries(Object.entries(fields).filter((entry) => entry[1] !== undefined));
  const written = await at_service.write(id, wanted as Readonly<Record<string, string>>);
  return told(written.kind === "ok" ? await at_service.read(id) : written);
}

/** What is read here is what the box answers with from now on, also while the service is away. */
function bound(
  named: string | undefined,
  { control, fields: service }: Services,
): { readonly id: string; readonly fields: BoothFieldsAtService } {
  const fields = needed(service, "this agent doesn't ask the service for them");
  const { booth, provisioning } = boothOf(control, named);
  const { booth_id: id, generation } = provisioning;
  if (id === null) {
    const why =
      generation === null
        ? `${booth} isn't bound yet: the service doesn't know it`
        : `this service shows no id of ${booth}: size and brand can't be asked for without one`;
    throw new Refusal(409, why);
  }
  const read: BoothFieldsAtService["read"] = async (asked) => {
    const answer = await fields.read(asked);
    if (answer.kind === "ok") await control.sawSizes(booth, answer.value);
    return answer;
  };
  return { id, fields: { ...fields, read } };
}

const STATUS = { conflict: 409, denied: 403, reject: 400, keep: 503 } as const;

function told(answer: ServiceAnswer<BoothFieldValues>): LocalAnswer {
  if (answer.kind === "ok") return { status: 200, body: { fields: answer.value } };
  if (answer.kind === "not_found") throw new Refusal(404, say("ask.forgotten"));
  const { kind, reason } = answer;
  throw new Refusal(STATUS[kind], kind === "denied" ? say("ask.refused", { reason }) : reason);
}
