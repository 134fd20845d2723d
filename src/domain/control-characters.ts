/**
 * Characters that change what a terminal or a reader sees instead of being seen: C0 and C1 controls (but tab and line feed), delete,
 * marks that reorder text (bidirectional controls), separators that some programs take for a new line, invisible tags.
 */
const CONTROLS =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f]/g;

/**
 * A text with each of these characters as `\u001b`. JSON stays the same JSON: the characters occur only inside its strings, where that
 * is the escape for them.
 */
export function withControlsEscaped(text: string): string {
  return text.replaceAll(CONTROLS, (found) => found.split("").map(escaped).join(""));
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
