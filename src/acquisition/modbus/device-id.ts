import type { DeviceObject } from "../port.ts";

/**
 * Read Device Identification, pure (Modbus Application Protocol V1.1b3, 6.21). Its PDU: function 43, MEI type 14, read code, conformity,
 * more follows, next object, number of objects, then id, length and text of each object.
 */
export const DEVICE_ID_FUNCTION = 0x2b;
export const DEVICE_ID_MEI = 0x0e;
/** Read codes: basic, regular, extended. A single object (read code 4) is never requested. */
export const DEVICE_ID_CODES = { basic: 1, regular: 2, extended: 3 } as const;

const HEADER_BYTES = 7;
const MAX_PDU_BYTES = 253;
const MORE = 0xff;

/**
 * Returns the length of the identification whose function code is at `from`; null if more bytes are needed; a text that describes the
 * fault.
 */
export function identificationLength(
  bytes: Uint8Array,
  { from, size }: { readonly from: number; readonly size: number },
  readCode: number,
): number | string | null {
  const at = (i: number): number => bytes[from + i] ?? 0;
  const available = size - from;
  if (available > 1 && at(1) !== DEVICE_ID_MEI) return `MEI type ${at(1)} instead of ${DEVICE_ID_MEI}`;
  if (available > 2 && at(2) !== readCode) return `read code ${at(2)} instead of ${readCode}`;
  if (available > 4 && at(4) !== 0 && at(4) !== MORE) return `more follows ${at(4)}`;
  if (available < HEADER_BYTES) return null;
  let end = HEADER_BYTES;
  for (let object = 0; object < at(6); object++) {
    if (end + 2 > MAX_PDU_BYTES) return "more objects than an answer has room for";
    if (available < end + 2) return null;
    end += 2 + at(end + 1);
    if (end > MAX_PDU_BYTES) return "more text than an answer has room for";
  }
  return available < end ? null : end;
}

/**
 * Maximum number of requests. The standard names three basic and four regular objects, so a device that needs more requests repeats itself.
 */
const MAX_REQUESTS = 8;
/** Id of the first regular object, after the basic ones. */
const FIRST_REGULAR = 3;

/**
 * Reads a device's basic and regular identification, in order of id. Returns null if the device has none.
 * @param ask sends a PDU and returns the answer's PDU, which `identificationLength` has checked
 */
export async function identify(
  ask: (pdu: readonly number[]) => Promise<Buffer>,
): Promise<readonly DeviceObject[] | null> {
  const found = new Map<number, string>();
  let requests = 0;
  /** Reads the objects. Returns the conformity level (1 basic, 2 regular, 3 extended), or null if the device refuses. */
  const collect = async (code: number, first: number): Promise<number | null> => {
    let conformity: number | null = null;
    for (let next: number | null = first; next !== null && requests < MAX_REQUESTS; requests++) {
      const pdu = await ask([DEVICE_ID_FUNCTION, DEVICE_ID_MEI, code, next]);
      if (pdu[0] !== DEVICE_ID_FUNCTION) return conformity;
      let at = HEADER_BYTES;
      for (let object = 0; object < pdu.readUInt8(6); object++) {
        const end = at + 2 + pdu.readUInt8(at + 1);
        const text = pdu.toString("latin1", at + 2, end).replace(/[\u0000-\u001f\u007f-\u009f]/g, " ");
        found.set(pdu.readUInt8(at), text.trim());
        at = end;
      }
      conformity = pdu.readUInt8(3) & 0x7f;
      const following = pdu.readUInt8(4) === MORE ? pdu.readUInt8(5) : 0;
      // Accepts only higher ids. Otherwise a device that names an object again would be asked forever.
      next = following > next ? following : null;
    }
    return conformity;
  };
  const conformity = await collect(DEVICE_ID_CODES.basic, 0);
  if (conformity === null) return null;
  if (conformity >= DEVICE_ID_CODES.regular) await collect(DEVICE_ID_CODES.regular, FIRST_REGULAR);
  return [...found].map(([id, text]) => ({ id, text })).toSorted((a, b) => a.id - b.id);
}
