import { SENTENCES, type SentenceCode } from "../domain/sentences.ts";

/** A sentence of the agent, to be said in another language: what stands for a {name} may be a sentence itself, or have some in it. */
export interface Said {
  readonly code: SentenceCode;
  readonly args: Readonly<Record<string, string | Told>>;
  readonly text: string;
}

/** A sentence; or, where several stand in one text, as a file's place before what is wrong there: all of it in its order. */
export type Told = Said | readonly (string | Said)[];

/** Where sentences stand in an answer. */
export const FIELDS: ReadonlySet<string> = new Set([
  "reason",
  "advice",
  "error",
  "trouble",
  "missing",
  "reasons",
  "label",
  "usual",
  "notes",
]);
/** Where they stand in what the profile workshop says as it goes. */
const TALK: ReadonlySet<string> = new Set([...FIELDS, "text", "question"]);
/** A sentence in a sentence in one; no text that we make goes deeper. */
const MAX_DEPTH = 3;
/** What joins sentences to one text: a place before, a hint behind, the next one, the next line. */
const JOINT = /(\n|; |: | \(|\)|(?<=\S) {2,})/;
/** Each run of them is looked at; a headline of a configuration has half as many. */
const MAX_PARTS = 24;
/** Of a long list the first lines; what comes behind is as it stands. */
const MAX_LINES = 60;
/** A page asks for the same few each second. */
const MAX_KNOWN = 500;
/** What is longer is no sentence of ours: it isn't looked at. */
const MAX_CHARS = 1_000;

interface Pattern {
  readonly code: SentenceCode;
  readonly names: readonly string[];
  readonly shape: RegExp;
}

/** Made when it is asked for first: a start says nothing to a page. */
function createTables() {
  const all = Object.entries(SENTENCES) as [SentenceCode, string][];
  const isFilled = ([, text]: readonly [SentenceCode, string]): boolean => /\{\w+\}/.test(text);
  return {
    /** What is filled in with nothing is found by its text. */
    whole: new Map(all.filter((one) => !isFilled(one)).map(([code, text]) => [text, code])),
    /** The most words of its own first: "{file} is empty" fits much, a whole sentence itself alone. */
    patterns: all
      .filter(isFilled)
      .map(([code, text]) => ({ code, text, own: text.replaceAll(/\{\w+\}/g, "").length }))
      .toSorted((one, other) => other.own - one.own)
      .map(patternOf),
  };
}

function patternOf({ code, text }: { readonly code: SentenceCode; readonly text: string }): Pattern {
  const parts = text.split(/\{(\w+)\}/);
  const source = parts.map((part, index) => (index % 2 === 0 ? escaped(part) : "(.*?)")).join("");
  return { code, names: parts.filter((_, index) => index % 2 === 1), shape: new RegExp(`^${source}$`) };
}

/** A text that a pattern matches as it stands. */
function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

let tables: ReturnType<typeof createTables> | null = null;
const known = new Map<string, Told | null>();

/** Which sentences of the table a text is, and what fills them in; null: none, as the words of the service or of Node. */
export function saidOf(text: string): Told | null {
  const before = known.get(text);
  if (before !== undefined) return before;
  const said = text.includes("\n") ? linesOf(text) : found(text.trim(), text, 0);
  const [oldest] = known.keys();
  if (known.size >= MAX_KNOWN && oldest !== undefined) known.delete(oldest);
  known.set(text, said);
  return said;
}

/** What is indented is no sentence: lines of a file, entries of a profile. */
function linesOf(text: string): Told | null {
  const lines = text.split(/(?<=\n)/);
  const told = lines.flatMap((line, index) => {
    const own = line.trimEnd();
    const one = index < MAX_LINES && own !== "" && !/^\s/.test(line) ? found(own, own, 0) : null;
    return [...(one === null ? [own] : "code" in one ? [one] : one), line.slice(own.length)];
  });
  return anySaid(told);
}

function found(text: string, whole: string, depth: number): Told | null {
  if (depth >= MAX_DEPTH || text.length > MAX_CHARS) return null;
  const one = sentenceOf(text, depth);
  if (one === null) return partsOf(text, depth);
  return text === whole ? one : { ...one, text: whole };
}

function sentenceOf(text: string, depth: number): Said | null {
  tables ??= createTables();
  const plain = tables.whole.get(text);
  if (plain !== undefined) return { code: plain, args: {}, text };
  // Those that are filled in have more than one word.
  if (!text.includes(" ")) return null;
  for (const { code, names, shape } of tables.patterns) {
    const match = shape.exec(text);
    if (match === null) continue;
    const args = names.map((name, index) => {
      const value = match[index + 1] ?? "";
      return [name, found(value, value, depth + 1) ?? value] as const;
    });
    return { code, args: Object.fromEntries(args), text };
  }
  return null;
}

/** The longest runs of parts that are sentences, and what stands between. */
function partsOf(text: string, depth: number): Told | null {
  const parts = text.split(JOINT);
  if (parts.length === 1 || parts.length > MAX_PARTS) return null;
  const told: (string | Said)[] = [];
  for (let from = 0; from < parts.length; from++) {
    const longest = runFrom(parts, from, depth + 1);
    told.push(longest?.one ?? parts[from] ?? "");
    if (longest !== null) from = longest.to - 1;
  }
  return anySaid(told);
}

/** What joins stands at the odd places: no sentence begins there. */
function runFrom(parts: readonly string[], from: number, depth: number) {
  if (from % 2 === 1) return null;
  for (let to = parts.length; to > from; to--) {
    const one = sentenceOf(parts.slice(from, to).join(""), depth);
    if (one !== null) return { one, to };
  }
  return null;
}

function anySaid(told: readonly (string | Said)[]): Told | null {
  return told.some((one) => typeof one !== "string") ? told.filter((one) => one !== "") : null;
}

/**
 * An answer with `said` in each object that has sentences of ours, by the names of their fields; of a list one for each, null
 * for what is none. For who asks with `said=true`; the texts themselves stay as they are.
 */
export function withSaid(body: unknown, fields = FIELDS): unknown {
  if (Array.isArray(body)) return body.map((one) => withSaid(one, fields));
  if (typeof body !== "object" || body === null) return body;
  const entries = Object.entries(body);
  const said = entries.flatMap(([name, value]) => {
    const one = fields.has(name) ? saidIn(value) : null;
    return one === null ? [] : [[name, one] as const];
  });
  const all = Object.fromEntries(entries.map(([name, value]) => [name, withSaid(value, fields)]));
  return said.length === 0 ? all : { ...all, said: Object.fromEntries(said) };
}

/** The same for what the profile workshop says. */
export function talkSaid(data: unknown): unknown {
  return withSaid(data, TALK);
}

function saidIn(value: unknown): Told | readonly (Told | null)[] | null {
  if (typeof value === "string") return saidOf(value);
  if (!Array.isArray(value)) return null;
  const all = value.map((one) => (typeof one === "string" ? saidOf(one) : null));
  return all.some((one) => one !== null) ? all : null;
}

/** Whether an answer is wanted so. */
export function wantsSaid(query: Readonly<Record<string, string>>): boolean {
  return query["said"] === "true";
}
