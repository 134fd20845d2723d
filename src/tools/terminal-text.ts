import { withControlsEscaped } from "../domain/control-characters.ts";

/**
 * The mark in front of the gateway's own escape sequences. Texts of services, PLCs, brokers and files cannot contain the mark, because each
 * process chooses a random mark. The writer (`src/cli/terminal.ts`) passes marked colors and cursor movements, and escapes everything
 * else.
 */
const MARK = `\u001b${Math.random().toString(36).slice(2)}${Math.random().toString(36).slice(2)}`;

/** Marks an escape sequence, given without its ESC: `[32m`. */
export function ownSequence(sequence: string): string {
  return `${MARK}${sequence}`;
}

/** Prepares a text for a terminal: marked sequences take effect, all other control characters are escaped. */
export function terminalText(text: string): string {
  return text.split(MARK).map(withControlsEscaped).join("\u001b");
}
