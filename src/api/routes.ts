import { PLAIN_GENERATION, WRONG_SERIAL } from "../domain/provisioning.ts";
import { normaliseSerial } from "../domain/serial.ts";
import type { AgentControl } from "../domain/agent-control.ts";
import type { Way } from "./access.ts";
import { decoded } from "./decoded.ts";
import { jsonOf } from "./json-body.ts";
import { localClaimShape, localConfirmShape, localReleaseShape, localUpdateShape } from "../contract/local.ts";
import { operationOf } from "../contract/operations.ts";
import { provisioningBody } from "../contract/reports-fleet.ts";
import { findBooth, localBooths } from "./local-booth.ts";

export interface LocalRequest {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly way: Way;
}

export interface LocalAnswer {
  readonly status: number;
  /** A string goes as it is, anything else as JSON. */
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What the agent's socket answers; errors are `{error}` as at the service. */
export async function routeOf(request: LocalRequest, control: AgentControl): Promise<LocalAnswer> {
  switch (`${request.method} ${request.path}`) {
    case "POST /api/booths_provisioning":
      return enterSerial(request, control);
    case "POST /confirm":
      return confirm(request.body, control);
    case "POST /release":
      return release(request, control);
    default:
      if (operationOf(request.method, request.path)?.method === "PUT") return update(request, control);
      return { status: 404, body: { error: `there is no ${request.method} ${request.path} here` } };
  }
}

async function enterSerial({ body, way }: LocalRequest, control: AgentControl): Promise<LocalAnswer> {
  const parsed = localClaimShape.safeParse(jsonOf(body));
  if (!parsed.success) return bad("serial_number is needed");
  const serial = normaliseSerial(parsed.data.serial_number);
  if (serial === null) return bad("a serial number has letters, digits and single dashes, like ABCD-123-123");
  const booth = boothOf(control, parsed.data.booth);
  if (booth === null) return bad("name the booth: this gateway serves several, or none of that name");
  const bound = boundElsewhere(control, booth, serial);
  if (bound !== null) {
    return {
      status: 409,
      body: {
        error: `${booth} is bound as ${bound}: give that up first ("booth-gateway release --wrong-serial" where it was mistyped), then enter ${serial}`,
      },
    };
  }
  if (parsed.data.api_key !== undefined && isKeyInForce(control, booth) && way !== "admin") {
    return rootAlone("changing the key of a bound booth", "provision SERIAL --key-file FILE");
  }
  if (parsed.data.api_key !== undefined) await control.giveKey(parsed.data.api_key);
  await control.enterSerial(booth, serial, parsed.data.confirm ?? null);
  const record = recordOf(control, booth);
  // Bound under that number already: nothing is under way.
  return { status: record?.status === "provisioned" ? 200 : 202, body: record };
}

async function confirm(text: string, control: AgentControl): Promise<LocalAnswer> {
  const parsed = localConfirmShape.safeParse(jsonOf(text));
  if (!parsed.success) return bad("by is needed: who compared the booth with the card");
  const booth = boothOf(control, parsed.data.booth);
  if (booth === null) return bad("name the booth: this gateway serves several, or none of that name");
  const { by, note, replace, service_booth } = parsed.data;
  await control.confirm(booth, { by, note, replace, service_booth });
  return { status: 202, body: { booth } };
}

async function release({ body, way }: LocalRequest, control: AgentControl): Promise<LocalAnswer> {
  const parsed = localReleaseShape.safeParse(jsonOf(body));
  if (!parsed.success) return bad("to is released or decommissioned, wrong_serial true or false");
  const booth = boothOf(control, parsed.data.booth);
  if (booth === null) return bad("name the booth: this gateway serves several, or none of that name");
  const { to, wrong_serial } = parsed.data;
  if (to === "decommissioned" && way !== "admin") return DECOMMISSION;
  await control.leave(booth, { to, reason: wrong_serial ? WRONG_SERIAL : "given up on the spot" });
  return { status: 202, body: { booth } };
}

/** As the service's own operation takes it, for the booth of that serial number. */
async function update({ path, body, way }: LocalRequest, control: AgentControl): Promise<LocalAnswer> {
  const serial = normaliseSerial(decoded(path.split("/").at(-1) ?? ""));
  const found = control.status().booths.find((one) => one.serial !== null && one.serial === serial);
  if (found === undefined) return { status: 404, body: { error: "no booth of this box has that serial number" } };
  const parsed = localUpdateShape.safeParse(jsonOf(body));
  if (!parsed.success) {
    return bad(
      "status (released or decommissioned) or completion_status is needed; the other fields are the service's",
    );
  }
  const { status: to, reason = "given up on the spot", completion_status } = parsed.data;
  if (to === "decommissioned" && way !== "admin") return DECOMMISSION;
  if (to === undefined) return completion(recordOf(control, found.booth), completion_status);
  await control.leave(found.booth, { to, reason });
  return { status: 202, body: recordOf(control, found.booth) };
}

/** The gateway itself completes a binding, and tells the service: said again it is so, or will be; it can't be taken back. */
function completion(record: BindingRecord | null, wanted: string | undefined): LocalAnswer {
  if (record?.completion_status === wanted) return { status: 200, body: record };
  if (wanted === "COMPLETE") return { status: 202, body: record };
  const error = "the booth is bound and complete: to undo that, give it up with status released";
  return { status: 409, body: { error } };
}

type BindingRecord = ReturnType<typeof provisioningBody>;

/** The record in the service's shape, as far as the box knows it. */
function recordOf(control: AgentControl, booth: string): BindingRecord | null {
  const found = findBooth(localBooths(control.status()), booth);
  return found === undefined ? null : provisioningBody(found);
}

/** A key given for a booth that is bound takes the place of one in force; at the plain level all booths share one. */
function isKeyInForce(control: AgentControl, booth: string): boolean {
  return localBooths(control.status()).some(
    (one) =>
      provisioningBody(one).status === "provisioned" && (one.booth === booth || one.generation === PLAIN_GENERATION),
  );
}

/** What can't be undone from afar, or opens the service to somebody else, isn't for the socket's group, nor for who has a PIN. */
function rootAlone(what: string, command: string): LocalAnswer {
  const error = `${what} is for root alone: run it as root on the box ("sudo booth-gateway ${command}")`;
  return { status: 403, body: { error } };
}

const DECOMMISSION = rootAlone("taking a booth out of service for good", "decommission");

/** The serial number that the booth is bound under, where it is another one. */
function boundElsewhere(control: AgentControl, booth: string, serial: string): string | null {
  const now = control.status().booths.find((one) => one.booth === booth);
  if (now === undefined || now.provisioning.generation === null || now.serial === serial) return null;
  return now.serial;
}

/** The booth named, or the only one there is. */
export function boothOf(control: AgentControl, named: string | undefined): string | null {
  const booths = control.status().booths.map(({ booth }) => booth);
  if (named === undefined) return booths.length === 1 ? (booths[0] ?? null) : null;
  return booths.includes(named) ? named : null;
}

export function bad(error: string): LocalAnswer {
  return { status: 400, body: { error } };
}
