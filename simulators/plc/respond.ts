import { identificationPdu, isIdentification } from "./identification.ts";
import { answer, type Device, type Request } from "./modbus-frames.ts";
import type { ServerCounts } from "./counts.ts";

/** The server's memory of earlier requests. */
export interface Asked {
  /** The last request, for late answers. */
  last: Request | null;
}

/** Frames an answer's PDU. `more`: number of bytes that are announced but never sent. */
type Wrap = (about: Request, pdu: Buffer, more: number) => Buffer;

/** Returns the bytes that answer a request under the device's manners, or null for silence. */
export function respond(
  to: { readonly device: Device; readonly asked: Asked; readonly counts: ServerCounts },
  request: Request,
  as: { readonly now: number; readonly wrap: Wrap },
): Buffer | null {
  const { device, asked, counts } = to;
  const { manners } = device;
  const about = manners.late_answers ? asked.last : request;
  asked.last = request;
  if (manners.drop_answers || !about) return null;
  const objects = device.identification?.(as.now) ?? [];
  const { pdu, values } =
    isIdentification(about.pdu) && objects.length > 0 && manners.identification_bytes !== null
      ? { pdu: identificationPdu(objects, about.pdu, manners.identification_bytes), values: 0 }
      : answer(device, about, as.now);
  device.answered_at = as.now;
  counts.values += values;
  if (((pdu[0] ?? 0) & 0x80) !== 0) counts.exceptions++;
  if (!manners.wrong_length) return as.wrap(about, pdu, 0);
  const overstated = Buffer.from(pdu);
  if (values > 0) overstated[1] = Math.min(250, (overstated[1] ?? 0) + 2);
  return as.wrap(about, overstated, 2);
}
