/** Nothing that people send here is nested deeper. */
const MAX_DEPTH = 16;
/** Names by which a text could reach into JavaScript's own objects. */
const REFUSED_KEYS = new Set(["__proto__", "constructor", "prototype"]);

/** A body as data; undefined where it is no JSON, too deep, or has a key that no shape of ours could have. */
export function jsonOf(text: string): unknown {
  if (depthOf(text) > MAX_DEPTH) return undefined;
  try {
    return JSON.parse(text, (key, value: unknown) => {
      if (REFUSED_KEYS.has(key)) throw new SyntaxError(key);
      return value;
    }) as unknown;
  } catch {
    // Not JSON is an expected input: the shape refuses undefined.
    return undefined;
  }
}

/** Of brackets, without regard to strings: an upper bound, found before anything is built. */
function depthOf(text: string): number {
  let [depth, deepest] = [0, 0];
  for (const char of text) {
    if (char === "{" || char === "[") deepest = Math.max(deepest, ++depth);
    else if (char === "}" || char === "]") depth -= 1;
  }
  return deepest;
}
