import { createHash, type Hash, hash } from "node:crypto";

/** Deeper values are not records of a booth; the bound keeps a hostile batch from exhausting the stack. */
const MAX_DEPTH = 16;

/** Returns JSON text with object keys sorted at every depth. Throws a RangeError beyond the allowed depth. */
export function canonical(value: unknown, depth = 0): string {
  if (depth > MAX_DEPTH) throw new RangeError("value is nested too deeply");
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, depth + 1)).join(",")}]`;
  // Most values are numbers, and JSON writes them in the same way.
  if (typeof value === "number" && Number.isFinite(value)) return String(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const fields = value as Readonly<Record<string, unknown>>;
  const keys = Object.keys(fields).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(fields[key], depth + 1)}`).join(",")}}`;
}

/** The content of a record, which excludes its corrected time. `value` is canonical JSON. */
export interface Content {
  readonly kind: string;
  readonly tag: string;
  readonly boot: string;
  readonly mono: number;
  readonly value: string;
  readonly quality: string;
}

/** Returns a line of a range's hash, without its line end. */
export function contentLine({ kind, tag, boot, mono, value, quality }: Content): string {
  // The format of numbers in JSON.
  const when = Number.isFinite(mono) ? String(mono) : "null";
  return `[${quoted(kind)},${quoted(tag)},${quoted(boot)},${when},${value},${quoted(quality)}]`;
}

/** Names repeat in each record: a lookup takes a tenth of the time of quoting again. */
const MOST_QUOTED = 10_000;
const known = new Map<string, string>();

function quoted(name: string): string {
  let text = known.get(name);
  if (text === undefined) {
    if (known.size >= MOST_QUOTED) known.clear();
    known.set(name, (text = JSON.stringify(name)));
  }
  return text;
}

/** Number of characters that are hashed at once: a call for each line takes as long as the hash. */
const HASHED_AT_ONCE = 64 * 1024;

/** Returns the SHA-256 in hex over the records' lines in the given order. */
export function rangeHash(records: Iterable<Content>): string {
  let long: Hash | undefined;
  let text = "";
  for (const record of records) {
    text += `${contentLine(record)}\n`;
    if (text.length < HASHED_AT_ONCE) continue;
    long = (long ?? createHash("sha256")).update(text);
    text = "";
  }
  // A batch has few lines: hashing them at once takes half as long as a hash object.
  return long === undefined ? hash("sha256", text) : long.update(text).digest("hex");
}
