import { encode, renderUnicodeCompact } from "uqr";
import { ownSequence } from "./terminal-text.ts";

/** Quiet modules around a code, on each side (ISO/IEC 18004 requires four). */
const QUIET = 4;

/** A QR code for a terminal, dark on light with any theme. */
export function qrText(text: string): string {
  const lines = renderUnicodeCompact(text, { border: 2 }).split("\n");
  return lines.map((line) => `${ownSequence("[30;107m")}${line}${ownSequence("[0m")}`).join("\n");
}

/** A QR code as rows of modules with its quiet zone. true: dark. */
export function qrModules(text: string): readonly (readonly boolean[])[] {
  return encode(text, { border: QUIET }).data;
}
