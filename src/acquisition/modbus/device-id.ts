import type { DeviceObject } from "../port.ts";

/**
 * Answers to Read Device Identification, pure (Modbus Application Protocol V1.1b3, 6.21): function 43, MEI type 14, read
 * code, conformity, more follows, next object, number of objects, then id, length and text of each.
 */
export const DEVICE_ID_FUNCTION = 0x2b;
export const DEVICE_ID_MEI = 0x0e;
/** Read codes: basic, regular, extended. One object alone (4) isn't asked for. */
export const DEVICE_ID_CODES = { basic: 1, regular: 2, extended: 3 } as const;

const HEADER_BYTES = 7;
const MAX_PDU_BYTES = 253;
const MORE = 0xff;

/**
 * How long the identification that begins with its function code at `from` is; null: not all there yet; a text: what is
 * wrong with it.
 */
export function identificationLength(
  bytes: Uint8Array,
  { from, size }: { readonly from: number; readonly size: number },
  readCode: number,
): number | string | null {
  const at = (i: number): number => bytes[from + i] ?? 0;
  const there = size - from;
  if (there > 1 && at(1) !== DEVICE_ID_MEI) return `MEI type ${at(1)} instead of ${DEVICE_ID_MEI}`;
  if (there > 2 && at(2) !== readCode) return `read code ${at(2)} instead of ${readCode}`;
  if (there > 4 && at(4) !== 0 && at(4) !== MORE) return `more follows ${at(4)}`;
  if (there < HEADER_BYTES) return null;
  let end = HEADER_BYTES;
  for (let object = 0; object < at(6); object++) {
    if (end + 2 > MAX_PDU_BYTES) return "more objects than an answer has room for";
    if (there < end + 2) return null;
    end += 2 + at(end + 1);
    if (end > MAX_PDU_BYTES) return "more text than an answer has room for";
  }
  return there < end ? null : end;
}

/**
 * @param pdu from the function code on, found sound by `identificationLength`
 * @returns conformity: 1 basic, 2 regular, 3 extended; next: where the next request goes on, null: that was all
 */
function parseIdentification(pdu: Buffer) {
  const objects: DeviceObject[] = [];
  let at = HEADER_BYTES;
  for (let object = 0; object < pdu.readUInt8(6); object++) {
    const length = pdu.readUInt8(at + 1);
    const text = pdu.toString("latin1", at + 2, at + 2 + length).replace(/[\u0000-\u001f\u007f-\u009f]/g, " ");
    objects.push({ id: pdu.readUInt8(at), text: text.trim() });
    at += 2 + length;
  }
  const next = pdu.readUInt8(4) === MORE ? pdu.readUInt8(5) : null;
  return { objects, conformity: pdu.readUInt8(3) & 0x7f, next };
}

/** Three basic and four regular objects are what the standard names; a device that wants more requests goes in circles. */
const MAX_REQUESTS = 8;
/** The first object beyond the basic ones. */
const FIRST_REGULAR = 3;

/**
 * A device's basic and regular identification, in order of id; null: it doesn't tell.
 * @param ask sends a PDU, gives the answer's PDU
 */
export async function identify(ask: (pdu: readonly number[]) => Promise<Buffer>) {
  const found = new Map<number, string>();
  let requests = 0;
  const collect = async (code: number, first: number): Promise<number | null> => {
    let conformity: number | null = null;
    for (let next: number | null = first; next !== null && requests < MAX_REQUESTS; requests++) {
      const answer = await ask([DEVICE_ID_FUNCTION, DEVICE_ID_MEI, code, next]);
      if (answer[0] !== DEVICE_ID_FUNCTION) return conformity;
      const part = parseIdentification(answer);
      for (const { id, text } of part.objects) found.set(id, text);
      conformity = part.conformity;
      // Only forward: a device that names an object again would be asked for ever.
      next = part.next !== null && part.next > next ? part.next : null;
    }
    return conformity;
  };
  const conformity = await collect(DEVICE_ID_CODES.basic, 0);
  if (conformity === null) return null;
  if (conformity >= DEVICE_ID_CODES.regular) await collect(DEVICE_ID_CODES.regular, FIRST_REGULAR);
  return [...found].map(([id, text]) => ({ id, text })).toSorted((a, b) => a.id - b.id);
}
