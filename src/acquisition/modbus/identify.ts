import { DEVICE_ID_CODES, DEVICE_ID_FUNCTION, DEVICE_ID_MEI, parseIdentification } from "./device-id.ts";

export interface DeviceObject {
  readonly id: number;
  readonly text: string;
}

/** Three basic and four regular objects are what the standard names; a device that wants more requests goes in circles. */
const MAX_REQUESTS = 8;
/** The first object beyond the basic ones. */
const FIRST_REGULAR = 3;

/**
 * A device's basic and regular identification, in order of id; null: it doesn't tell.
 * @param ask sends a PDU, gives the answer's PDU
 */
export async function identify(
  ask: (pdu: readonly number[]) => Promise<Buffer>,
): Promise<readonly DeviceObject[] | null> {
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
