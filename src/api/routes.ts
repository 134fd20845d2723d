import { WRONG_SERIAL } from "../core/provisioning.ts";
import { normaliseSerial } from "../core/serial.ts";
import type { AgentControl } from "../ports.ts";
import { decoded } from "./decoded.ts";
import { jsonOf } from "./json-body.ts";
import { localClaimShape, localConfirmShape, localReleaseShape, localUpdateShape } from "../wire/local.ts";
import { operationOf } from "../wire/operations.ts";
import { provisioningBody } from "../wire/reports-fleet.ts";
import { findBooth, localBooths } from "./local-booth.ts";

export interface LocalRequest {
  readonly method: string;
  readonly path: string;
  readonly body: string;
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
      return enterSerial(request.body, control);
    case "POST /confirm":
      return confirm(request.body, control);
    case "POST /release":
      return release(request.body, control);
    default:
      if (operationOf(request.method, request.path)?.method === "PUT") return giveUp(request, control);
      return { status: 404, body: { error: `there is no ${request.method} ${request.path} here` } };
  }
}

async function enterSerial(text: string, control: AgentControl): Promise<LocalAnswer> {
  const parsed = localClaimShape.safeParse(jsonOf(text));
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
  if (parsed.data.api_key !== undefined) await control.giveKey(parsed.data.api_key);
  await control.enterSerial(booth, serial, parsed.data.confirm ?? null);
  return { status: 202, body: recordOf(control, booth) };
}

async function confirm(text: string, control: AgentControl): Promise<LocalAnswer> {
  const parsed = localConfirmShape.safeParse(jsonOf(text));
  if (!parsed.success) return bad("by is needed: who compared the booth with the card");
  const booth = boothOf(control, parsed.data.booth);
  if (booth === null) return bad("name the booth: this gateway serves several, or none of that name");
  const { by, note, replace } = parsed.data;
  await control.confirm(booth, { by, note, replace });
  return { status: 202, body: { booth } };
}

async function release(text: string, control: AgentControl): Promise<LocalAnswer> {
  const parsed = localReleaseShape.safeParse(jsonOf(text));
  if (!parsed.success) return bad("to is released or decommissioned, wrong_serial true or false");
  const booth = boothOf(control, parsed.data.booth);
  if (booth === null) return bad("name the booth: this gateway serves several, or none of that name");
  const { to, wrong_serial } = parsed.data;
  await control.leave(booth, { to, reason: wrong_serial ? WRONG_SERIAL : "given up on the spot" });
  return { status: 202, body: { booth } };
}

/** As the service's own operation takes it: the booth is given up by its serial number. */
async function giveUp({ path, body }: LocalRequest, control: AgentControl): Promise<LocalAnswer> {
  const parsed = localUpdateShape.safeParse(jsonOf(body));
  if (!parsed.success) return bad("status is released or decommissioned; the other fields are the service's");
  const serial = normaliseSerial(decoded(path.split("/").at(-1) ?? ""));
  const found = control.status().booths.find((one) => one.serial !== null && one.serial === serial);
  if (found === undefined) return { status: 404, body: { error: "no booth of this box has that serial number" } };
  const { status: to, reason = "given up on the spot" } = parsed.data;
  await control.leave(found.booth, { to, reason });
  return { status: 202, body: recordOf(control, found.booth) };
}

/** The record in the service's shape, as far as the box knows it. */
function recordOf(control: AgentControl, booth: string): unknown {
  const found = findBooth(localBooths(control.status()), booth);
  return found === undefined ? null : provisioningBody(found);
}

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
