import { SENTENCES, type SentenceCode } from "../domain/sentences.ts";

/** A sentence of the agent, to be said in another language: what stands for a {name} may be a sentence itself. */
export interface Said {
  readonly code: SentenceCode;
  readonly args: Readonly<Record<string, string | Said>>;
  readonly text: string;
}

/** Where sentences stand in an answer. */
const FIELDS: ReadonlySet<string> = new Set(["reason", "advice", "error", "trouble", "missing", "reasons"]);
/** A sentence in a sentence in one; no text that we make goes deeper. */
const MAX_DEPTH = 3;
/** A page asks for the same few each second. */
const MAX_KNOWN = 500;
/** What is longer is no sentence of ours: it isn't looked at. */
const MAX_CHARS = 1_000;

interface Pattern {
  readonly code: SentenceCode;
  readonly names: readonly string[];
  readonly shape: RegExp;
}

/** The most words of its own first: "{file} is empty" fits much, a whole sentence itself alone. */
const PATTERNS: readonly Pattern[] = Object.entries(SENTENCES)
  .map(([code, text]) => ({ code: code as SentenceCode, text, own: text.replaceAll(/\{\w+\}/g, "").length }))
  .toSorted((one, other) => other.own - one.own)
  .map(({ code, text }) => {
    const parts = text.split(/\{(\w+)\}/);
    const source = parts.map((part, index) => (index % 2 === 0 ? escaped(part) : "(.*?)")).join("");
    return { code, names: parts.filter((_, index) => index % 2 === 1), shape: new RegExp(`^${source}$`, "s") };
  });

/** A text that a pattern matches as it stands. */
function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

const known = new Map<string, Said | null>();

/** Which sentence of the table a text is, and what fills it in; null: none, as the words of the service or of Node. */
export function saidOf(text: string): Said | null {
  const before = known.get(text);
  if (before !== undefined) return before;
  const said = found(text, 0);
  const [oldest] = known.keys();
  if (known.size >= MAX_KNOWN && oldest !== undefined) known.delete(oldest);
  known.set(text, said);
  return said;
}

function found(text: string, depth: number): Said | null {
  // All of them have more than one word.
  if (depth >= MAX_DEPTH || text.length > MAX_CHARS || !text.includes(" ")) return null;
  for (const { code, names, shape } of PATTERNS) {
    const match = shape.exec(text);
    if (match === null) continue;
    const args = names.map((name, index) => {
      const value = match[index + 1] ?? "";
      return [name, found(value, depth + 1) ?? value] as const;
    });
    return { code, args: Object.fromEntries(args), text };
  }
  return null;
}

/**
 * An answer with `said` in each object that has sentences of ours, by the names of their fields; of a list one for each, null
 * for what is none. For who asks with `said=true`; the texts themselves stay as they are.
 */
export function withSaid(body: unknown): unknown {
  if (Array.isArray(body)) return body.map(withSaid);
  if (typeof body !== "object" || body === null) return body;
  const entries = Object.entries(body);
  const said = entries.flatMap(([name, value]) => {
    const one = FIELDS.has(name) ? saidIn(value) : null;
    return one === null ? [] : [[name, one] as const];
  });
  const all = Object.fromEntries(entries.map(([name, value]) => [name, withSaid(value)]));
  return said.length === 0 ? all : { ...all, said: Object.fromEntries(said) };
}

function saidIn(value: unknown): Said | readonly (Said | null)[] | null {
  if (typeof value === "string") return saidOf(value);
  if (!Array.isArray(value)) return null;
  const all = value.map((one) => (typeof one === "string" ? saidOf(one) : null));
  return all.some((one) => one !== null) ? all : null;
}

/** Whether an answer is wanted so. */
export function wantsSaid(query: Readonly<Record<string, string>>): boolean {
  return query["said"] === "true";
}
