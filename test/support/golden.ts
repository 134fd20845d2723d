const WIDTH = 118;

/**
 * Formats JSON for comparison by people: an object that fits takes one line, plain values fill lines, everything else
 * has a line each.
 */
export function laidOut(value: unknown, indent = ""): string {
  const flat = JSON.stringify(value);
  if (typeof value !== "object" || value === null || indent.length + flat.length <= WIDTH) return flat;
  const inner = `${indent}  `;
  if (!Array.isArray(value)) {
    const fields = Object.entries(value).map(([key, item]) => `${inner}"${key}": ${laidOut(item, inner)}`);
    return `{\n${fields.join(",\n")}\n${indent}}`;
  }
  const items: readonly unknown[] = value;
  const isPlain = items.every((item) => typeof item !== "object" || item === null);
  const lines = isPlain ? filled(items, WIDTH - inner.length) : items.map((item) => laidOut(item, inner));
  return `[\n${lines.map((line) => inner + line).join(",\n")}\n${indent}]`;
}

function filled(items: readonly unknown[], width: number): string[] {
  const lines: string[] = [];
  for (const item of items.map((one) => JSON.stringify(one))) {
    const line = lines.at(-1);
    if (line === undefined || line.length + item.length + 2 > width) lines.push(item);
    else lines[lines.length - 1] = `${line}, ${item}`;
  }
  return lines;
}

/**
 * Replaces the parts that differ from run to run with names: first the given words, then ids, hashes and ports in order
 * of appearance.
 */
export function withoutChance(text: string, known: Readonly<Record<string, string>>): string {
  const named = Object.entries(known).reduce((so_far, [word, name]) => so_far.replaceAll(word, name), text);
  const kinds: readonly (readonly [string, RegExp])[] = [
    ["id", /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g],
    ["hash", /\b[0-9a-f]{64}\b/g],
    ["port", /(?<=127\.0\.0\.1:)\d+/g],
  ];
  return kinds.reduce((so_far, [name, pattern]) => {
    const seen: string[] = [];
    return so_far.replace(pattern, (found) => {
      if (!seen.includes(found)) seen.push(found);
      return `<${name}-${seen.indexOf(found) + 1}>`;
    });
  }, named);
}
