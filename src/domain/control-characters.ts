/**
 * Characters that aren't shown but change how a terminal shows the text: C0 and C1 controls (except tab and line feed), delete,
 * bidirectional controls, separators that some programs treat as a new line, invisible tags.
 */
const CONTROLS =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f]/g;

/**
 * Replaces each control character by an escape such as `\u001b`. JSON keeps its meaning, because these characters occur only inside its
 * strings, where the escape means the same character.
 */
export function withControlsEscaped(text: string): string {
  return text.replaceAll(CONTROLS, (found) => found.split("").map(escaped).join(""));
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
