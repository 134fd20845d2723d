/**
 * Maximum nesting depth of JSON from peers. The service's deepest message has eight levels. Code that walks a parsed value recurses once
 * per level, so unlimited depth could overflow the stack.
 */
const MOST_JSON_DEPTH = 32;

/** Parses JSON from a peer. Returns undefined if the text isn't JSON, or is nested deeper than `most_depth`. */
export function jsonOf(text: string, most_depth = MOST_JSON_DEPTH): unknown {
  if (isDeeper(text, most_depth)) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // Returns undefined for invalid JSON, which is expected, for example from a captive portal. All callers reject undefined.
    return undefined;
  }
}

const QUOTE = 34;
const BACKSLASH = 92;
const OPENING = new Set([91, 123]);
const CLOSING = new Set([93, 125]);

/** Counts the brackets outside of strings, before the text is parsed. */
function isDeeper(text: string, most_depth: number): boolean {
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (isInString) {
      if (code === BACKSLASH) at += 1;
      else if (code === QUOTE) isInString = false;
    } else if (code === QUOTE) isInString = true;
    else if (OPENING.has(code)) {
      depth += 1;
      if (depth > most_depth) return true;
    } else if (CLOSING.has(code)) depth -= 1;
  }
  return false;
}
