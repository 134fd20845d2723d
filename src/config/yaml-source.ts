import { say } from "../domain/sentences.ts";
import { readFileSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import {
  Composer,
  type CST,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  Parser,
  visit,
  YAMLParseError,
} from "yaml";
import { DEFAULT_RUNTIME_DIR } from "../domain/plc-address.ts";
import { ConfigError, type Problem } from "./config-error.ts";
import { MOST_TAGS } from "./profile-schema.ts";
import { errorMessage } from "../domain/error-message.ts";

/**
 * What a YAML file may hold at most. The parser, the schemas and the search for a problem's place take a time that grows with the
 * square of one or the other, so a file is measured first, in one pass over its characters, and refused before any of them sees it.
 */

/** Some seven for each key with its value: a profile with as many tags as there may be, of fourteen keys each, has fewer. */
const MAX_PIECES = 200_000;
/** Aliases resolve to copies: without a bound a few lines make gigabytes; and each is looked for in the whole file. */
const MAX_ALIASES = 100;
/** Open brackets and indents at once, two for a list in a mapping; the deepest setting there is has a dozen. The parser recurses. */
const MAX_OPEN = 64;
/** Of the text itself: a file with more isn't YAML, and the parser takes ever longer over each. */
const MAX_MISTAKES = 100;
/** Of one mapping or list; a profile's tags are the longest that there is. */
const MAX_ENTRIES = MOST_TAGS;

/** Where a file breaks a bound, and which. */
interface Excess {
  /** In characters from the text's beginning. */
  readonly offset: number;
  readonly message: string;
}

/** null: small and flat enough to be parsed. */
export function excessOf(text: string): Excess | null {
  return tokensOf(text, new LineCounter()).excess;
}

/** Stops at the first piece that is too much; `lines` counts the lines up to there. */
function tokensOf(text: string, lines: LineCounter): { readonly tokens: CST.Token[]; readonly excess: Excess | null } {
  const parser = new Parser(lines.addNewLine);
  const tokens: CST.Token[] = [];
  lines.addNewLine(0);
  let pieces = 0;
  let aliases = 0;
  let mistakes = 0;
  for (const piece of new Lexer().lex(text)) {
    for (const token of parser.next(piece)) {
      tokens.push(token);
      if (token.type === "error") mistakes += 1;
    }
    pieces += 1;
    if (piece.startsWith("*")) aliases += 1;
    const message = excess({ pieces, aliases, mistakes, open: parser.stack.length });
    if (message !== null) return { tokens, excess: { offset: parser.offset, message } };
  }
  tokens.push(...parser.end());
  return { tokens, excess: null };
}

type Counted = Readonly<Record<"pieces" | "aliases" | "mistakes" | "open", number>>;

function excess({ pieces, aliases, mistakes, open }: Counted): string | null {
  if (open > MAX_OPEN) return say("yaml.too_deep", { most: MAX_OPEN });
  if (aliases > MAX_ALIASES) return say("yaml.aliases", { most: MAX_ALIASES });
  if (mistakes > MAX_MISTAKES) return say("yaml.mistakes", { most: MAX_MISTAKES });
  if (pieces > MAX_PIECES) return say("yaml.pieces", { most: MAX_PIECES });
  return null;
}

/** What is too long in a document, or stands twice; the parser itself would compare each key with each. */
function excessIn(document: Document.Parsed): readonly Excess[] {
  const found: Excess[] = [];
  visit(document, {
    Collection: (_, node) => {
      if (!isMap(node) && !isSeq(node)) return undefined;
      if (node.items.length > MAX_ENTRIES) {
        const message = say("yaml.entries", { count: node.items.length, most: MAX_ENTRIES });
        found.push({ offset: startOf(node) ?? 0, message });
        return visit.SKIP;
      }
      if (isMap(node)) found.push(...doublesIn(node.items.map(({ key }) => key)));
      return undefined;
    },
  });
  return found;
}

function doublesIn(keys: readonly unknown[]): readonly Excess[] {
  const seen = new Set<unknown>();
  return keys.flatMap((key) => {
    if (!isScalar(key)) return [];
    const isDouble = seen.has(key.value);
    seen.add(key.value);
    return isDouble ? [{ offset: startOf(key) ?? 0, message: say("yaml.twice") }] : [];
  });
}

function startOf(node: unknown): number | undefined {
  return (node as Node | null | undefined)?.range?.[0];
}

/** Larger than any profile that a person keeps; a bound against the wrong file. */
const MAX_FILE_BYTES = 1_048_576;
/** Keys that stand twice are looked for by `excessIn`. */
const PARSING = { prettyErrors: false, stringKeys: true, merge: false, uniqueKeys: false } as const;
/** Keys that change an object's behaviour instead of its data. */
const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

export type DataPath = readonly (string | number)[];

/** A parsed YAML file that still knows where each piece of data stands. */
export interface YamlSource {
  readonly file: string;
  readonly data: unknown;
  /** A problem with the value at `path`, or with its key; the nearest enclosing piece where nothing stands there. */
  problemAt(path: DataPath, message: string, options?: ProblemOptions): Problem;
  /** A single value as it stands in the file, where YAML drops what people wrote: 030001 is 30001, 0x10 is 16; null: no single value. */
  writtenAt(path: DataPath): string | null;
}

export interface ProblemOptions {
  readonly at?: "key" | "value";
  readonly hint?: string | undefined;
}

/** What to do where there is no configuration. */
export const NO_CONFIG_HINT = say("config.no_file_hint");

/** Reads a file of bounded size. Throws ConfigError where it is absent (with the hint), unreadable or too large. */
export function readSource(file: string, hint?: string): string {
  try {
    const size = statSync(file).size;
    if (size > MAX_FILE_BYTES) throw whole(file, `has ${size} bytes, more than ${MAX_FILE_BYTES}`);
    return readFileSync(file, "utf8");
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
    if (code === "ENOENT") throw whole(file, say("config.no_file"), { hint, cause });
    if (code === "EACCES") {
      const rights = say("config.sudo");
      throw whole(file, say("config.no_right"), { hint: rights, cause });
    }
    throw whole(file, `can't be read: ${errorMessage(cause)}`, { cause });
  }
}

/** Throws ConfigError for a text that would keep its readers busy for longer than a person waits. */
function boundedTokens(text: string, file: string, lines: LineCounter): readonly CST.Token[] {
  if (text.length > MAX_FILE_BYTES) throw whole(file, `is longer than ${MAX_FILE_BYTES} characters`);
  const { tokens, excess } = tokensOf(text, lines);
  if (excess === null) return tokens;
  const end = text.indexOf("\n", excess.offset);
  if (end !== -1) lines.addNewLine(end + 1);
  throw new ConfigError(file, [placer(text, lines)(excess.offset, "", excess.message)]);
}

/** What `parseDocument` makes of the text that the tokens are from, which would be taken apart once more for it. */
function documentOf(tokens: readonly CST.Token[], length: number): Document.Parsed {
  const [document, second] = new Composer(PARSING).compose(tokens, true, length);
  if (document === undefined) throw new Error("it makes no document");
  if (second !== undefined) {
    const [from, to] = second.range;
    document.errors.push(new YAMLParseError([from, to], "MULTIPLE_DOCS", say("yaml.documents")));
  }
  return document;
}

/** Pure. Throws ConfigError for what isn't one plain YAML 1.2 document. */
export function openYaml(text: string, file: string): YamlSource {
  const lines = new LineCounter();
  const tokens = boundedTokens(text, file, lines);
  try {
    const document = documentOf(tokens, text.length);
    const place = placer(text, lines);
    const broken = [...document.errors, ...document.warnings].map(({ pos, message }) =>
      place(pos[0], "", unquoted(message)),
    );
    const faults = [...broken, ...excessIn(document).map(({ offset, message }) => place(offset, "", message))];
    const refused = faults.length > 0 ? faults : forbiddenKeys(document, place);
    if (refused.length > 0) throw new ConfigError(file, refused);
    if (document.contents === null) throw whole(file, say("config.empty"));
    const data: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
    return {
      file,
      data,
      problemAt: (path, message, { at = "value", hint } = {}) => ({
        ...place(offsetOf(document, path, at), pathText(path), message),
        hint,
      }),
      writtenAt: (path) => writtenAt(document, path),
    };
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    // More aliases of aliases than allowed.
    throw whole(file, `can't be parsed: ${unquoted(errorMessage(cause))}`);
  }
}

/** What the parser says, without what it quotes of the file: that may be a secret, and the place is told beside it. */
function unquoted(message: string): string {
  return message.replace(/: .*$/s, "");
}

/** tags[3].role */
export function pathText(path: DataPath): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === "number") return `${text}[${step}]`;
    return text === "" ? step : `${text}.${step}`;
  }, "");
}

/** A problem of the file as a whole. */
export function whole(
  file: string,
  message: string,
  { hint, cause }: { readonly hint?: string | undefined; readonly cause?: unknown } = {},
): ConfigError {
  return new ConfigError(file, [{ line: 0, column: 0, path: "", message, hint }], cause);
}

type Place = (offset: number, path: string, message: string) => Problem;

function placer(text: string, lines: LineCounter): Place {
  return (offset, path, message) => {
    const { line, col } = lines.linePos(offset);
    const start = offset - (col - 1);
    // The counter has each line's beginning: looking for the end costs a long line's length for each of its problems.
    const source = text.slice(start, lines.lineStarts[line]).trimEnd();
    return { line, column: col, path, message, text: source };
  };
}

function forbiddenKeys(document: Document.Parsed, place: Place): readonly Problem[] {
  const problems: Problem[] = [];
  visit(document, {
    Pair: (_, { key }) => {
      if (!isScalar(key) || !FORBIDDEN_KEYS.has(String(key.value))) return;
      problems.push(place(key.range?.[0] ?? 0, "", say("config.key_refused", { key: String(key.value) })));
    },
  });
  return problems;
}

function offsetOf(document: Document.Parsed, path: DataPath, at: "key" | "value"): number {
  let node: unknown = document.contents;
  let offset = startOf(node) ?? 0;
  for (const [depth, step] of path.entries()) {
    if (isAlias(node)) node = node.resolve(document);
    const pair = isMap(node) ? node.items.find(({ key }) => isScalar(key) && String(key.value) === String(step)) : null;
    const value: unknown = isSeq(node) ? node.items[Number(step)] : pair?.value;
    if (pair === undefined || (pair === null && !isSeq(node))) return offset;
    const wantsKey = at === "key" && depth === path.length - 1;
    offset = (wantsKey ? undefined : startOf(value)) ?? startOf(pair?.key) ?? offset;
    node = value;
  }
  return offset;
}

function writtenAt(document: Document.Parsed, path: DataPath): string | null {
  let node: unknown = document.contents;
  for (const step of path) {
    if (isAlias(node)) node = node.resolve(document);
    node = isMap(node) || isSeq(node) ? node.get(step, true) : undefined;
  }
  const found = isAlias(node) ? node.resolve(document) : node;
  return isScalar(found) && found.source !== undefined ? found.source : null;
}

/**
 * Where an agent with this configuration has its socket. Nothing else of the file is looked at: a mistake elsewhere must not
 * keep anybody from asking an agent that runs. Throws ConfigError where the file can't be read.
 */
export function runtimeDirOf(file: string): string {
  const { data } = openYaml(readSource(file, NO_CONFIG_HINT), file);
  const given: unknown = typeof data === "object" && data !== null ? Reflect.get(data, "runtime_dir") : undefined;
  return resolve(dirname(resolve(file)), typeof given === "string" ? given : DEFAULT_RUNTIME_DIR);
}
