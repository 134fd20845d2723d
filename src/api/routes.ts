import { normaliseSerial } from "../core/serial.ts";
import type { AgentControl } from "../ports.ts";
import { localClaimShape, localConfirmShape } from "../wire/local.ts";

export interface LocalRequest {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

export interface LocalAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** What the agent's socket answers; errors are `{error}` as at the service. */
export async function routeOf(request: LocalRequest, control: AgentControl): Promise<LocalAnswer> {
  switch (`${request.method} ${request.path}`) {
    case "GET /status":
      return { status: 200, body: control.status() };
    case "POST /api/booths_provisioning":
      return enterSerial(request.body, control);
    case "POST /confirm":
      return confirm(request.body, control);
    default:
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
  await control.enterSerial(booth, serial, parsed.data.confirm ?? null);
  return { status: 202, body: { booth, serial_number: serial } };
}

async function confirm(text: string, control: AgentControl): Promise<LocalAnswer> {
  const parsed = localConfirmShape.safeParse(jsonOf(text));
  if (!parsed.success) return bad("by is needed: who compared the booth with the card");
  const booth = boothOf(control, parsed.data.booth);
  if (booth === null) return bad("name the booth: this gateway serves several, or none of that name");
  await control.confirm(booth, { by: parsed.data.by, note: parsed.data.note });
  return { status: 202, body: { booth } };
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

export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // Not JSON is an expected input: the shape refuses undefined.
    return undefined;
  }
}
