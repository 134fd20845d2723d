import { withControlsEscaped } from "../domain/control-characters.ts";

/**
 * Marks the gateway's own escape sequences. Texts of services, PLCs, brokers and files cannot contain it, because it is drawn anew in
 * each process. So the one writer (`src/cli/terminal.ts`) lets our colours and cursor movements pass and escapes everything else.
 */
const MARK = `\u001b${Math.random().toString(36).slice(2)}${Math.random().toString(36).slice(2)}`;

/** An escape sequence of our own, without its ESC: `[32m`. */
export function ownSequence(sequence: string): string {
  return `${MARK}${sequence}`;
}

/** The text as it goes to a terminal: our own sequences work, all other control characters are escaped. */
export function terminalText(text: string): string {
  return text.split(MARK).map(withControlsEscaped).join("\u001b");
}
