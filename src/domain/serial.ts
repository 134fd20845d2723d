import type { Serial } from "./units.ts";

const SHAPE = /^[A-Z0-9]+(-[A-Z0-9]+)*$/;
const LONGEST = 40;

/** What is typed, trimmed and upper-cased; null where it can't be a serial number (letters, digits, single dashes between). */
export function normaliseSerial(typed: string): Serial | null {
  const serial = typed.trim().toUpperCase();
  return SHAPE.test(serial) && serial.length <= LONGEST ? serial : null;
}
