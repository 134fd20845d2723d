import { encode, renderUnicodeCompact } from "uqr";
import { ownSequence } from "./terminal-text.ts";

/** The width of the quiet zone around a code on each side, in modules (ISO/IEC 18004 requires four). */
const QUIET = 4;

/** Returns a QR code for a terminal, dark on light in any theme. */
export function qrText(text: string): string {
  const lines = renderUnicodeCompact(text, { border: 2 }).split("\n");
  return lines.map((line) => `${ownSequence("[30;107m")}${line}${ownSequence("[0m")}`).join("\n");
}

/** Returns a QR code with its quiet zone as rows of modules, where true means dark. */
export function qrModules(text: string): readonly (readonly boolean[])[] {
  return encode(text, { border: QUIET }).data;
}
