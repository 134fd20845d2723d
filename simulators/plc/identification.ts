import type { ModbusProfile } from "../../src/domain/profile.ts";
import type { Identity } from "./model/types.ts";

/** An object of Read Device Identification. */
export interface IdentificationObject {
  readonly id: number;
  readonly text: string;
}

/** Modbus Application Protocol V1.1b3, 6.21. */
const FUNCTION = 0x2b;
const MEI = 0x0e;
const HEADER_BYTES = 7;
const ONE_OBJECT = 4;
/** Conformity level: basic and regular, with access to individual objects. */
const CONFORMITY = 0x82;
/** Last object id for the read codes 1 to 3. */
const LAST_OBJECT: Readonly<Record<number, number>> = { 1: 2, 2: 0x7f, 3: 0xff };

export function isIdentification(pdu: Buffer): boolean {
  return pdu[0] === FUNCTION && pdu[1] === MEI;
}

/** Returns the objects: vendor, product code and revision; product and model names. */
export function identificationOf(
  profile: ModbusProfile,
  identity: Pick<Identity, "firmware_version" | "plc_program">,
): readonly IdentificationObject[] {
  return [
    { id: 0, text: profile.vendor },
    { id: 1, text: profile.name },
    { id: 2, text: identity.firmware_version },
    { id: 4, text: `${profile.vendor} booth controller` },
    { id: 5, text: identity.plc_program },
  ];
}

/**
 * Returns the answer's PDU with as many objects as fit into `most` bytes, at least one; exception 2 or 3 for a wrong
 * request.
 */
export function identificationPdu(objects: readonly IdentificationObject[], pdu: Buffer, most: number): Buffer {
  const [code = 0, first = 0] = pdu.subarray(2);
  const last = code === ONE_OBJECT ? first : LAST_OBJECT[code];
  if (pdu.length !== 4 || last === undefined) return Buffer.from([FUNCTION | 0x80, 3]);
  const wanted = objects.filter(({ id }) => id >= first && id <= last);
  if (wanted.length === 0) return Buffer.from([FUNCTION | 0x80, 2]);
  const parts: Buffer[] = [];
  let size = HEADER_BYTES;
  for (const { id, text } of wanted) {
    const bytes = Buffer.from(text, "latin1").subarray(0, 240);
    if (parts.length > 0 && size + 2 + bytes.length > most) break;
    parts.push(Buffer.from([id, bytes.length]), bytes);
    size += 2 + bytes.length;
  }
  const sent = parts.length / 2;
  const next = wanted[sent];
  const header = [FUNCTION, MEI, code, CONFORMITY, next === undefined ? 0 : 0xff, next?.id ?? 0, sent];
  return Buffer.concat([Buffer.from(header), ...parts]);
}
