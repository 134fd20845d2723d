import { message, type Message, type Text } from "../domain/message.ts";
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
import { errorText } from "../domain/messages/message-error.ts";
import { yamlText } from "./yaml-text.ts";

/*
 * The following constants limit a YAML file. The parser, the schemas and the search for a problem's place take quadratic time in the number
 * of tokens and aliases, and in the depth. A first pass over the characters counts these and rejects a file that exceeds a limit.
 */

/**
 * The maximum number of tokens. A key with its value has about seven tokens; a profile with the most tags, each with fourteen keys, stays
 * below.
 */
const MAX_PIECES = 200_000;
/**
 * The maximum number of aliases. Aliases resolve to copies, so a few lines could grow to gigabytes. The parser also searches the whole file
 * for each alias.
 */
const MAX_ALIASES = 100;
/**
 * The deepest nesting: open brackets and indents, where a list in a mapping counts twice. The deepest setting has about twelve. The limit
 * protects the parser, which works recursively.
 */
const MAX_OPEN = 64;
/** The maximum number of syntax errors. A file with more errors isn't YAML, and each error slows down the parser. */
const MAX_MISTAKES = 100;
/** The maximum number of entries in a mapping or list. The longest valid list is a profile's tags. */
const MAX_ENTRIES = MOST_TAGS;

/** A limit that a file exceeds, and its offset in characters. */
interface Excess {
  readonly offset: number;
  readonly text: Message;
}

/** Returns the limit that a text exceeds; null if the text is small and flat enough to parse. */
export function excessOf(text: string): Excess | null {
  return tokensOf(text, new LineCounter()).excess;
}

/** Splits a text into tokens. Stops at the first token that exceeds a limit; `lines` counts the lines up to that token. */
function tokensOf(text: string, lines: LineCounter): { readonly tokens: CST.Token[]; readonly excess: Excess | null } {
  const parser = new Parser(lines.addNewLine);
  const tokens: CST.Token[] = [];
  lines.addNewLine(0);
  let pieces = 0;
  let aliases = 0;
  let mistakes = 0;
  const excess = (): Message | null => {
    if (parser.stack.length > MAX_OPEN) return message("yaml.too_deep", { most: MAX_OPEN });
    if (aliases > MAX_ALIASES) return message("yaml.aliases", { most: MAX_ALIASES });
    if (mistakes > MAX_MISTAKES) return message("yaml.mistakes", { most: MAX_MISTAKES });
    return pieces > MAX_PIECES ? message("yaml.pieces", { most: MAX_PIECES }) : null;
  };
  for (const piece of new Lexer().lex(text)) {
    for (const token of parser.next(piece)) {
      tokens.push(token);
      if (token.type === "error") mistakes += 1;
    }
    pieces += 1;
    if (piece.startsWith("*")) aliases += 1;
    const text = excess();
    if (text !== null) return { tokens, excess: { offset: parser.offset, text } };
  }
  tokens.push(...parser.end());
  return { tokens, excess: null };
}

/** Returns collections with too many entries, and duplicate keys. The parser itself would compare each key with every other key. */
function excessIn(document: Document.Parsed): readonly Excess[] {
  const found: Excess[] = [];
  const offsetOf = (node: unknown): number => startOf(node) ?? 0;
  visit(document, {
    Collection: (_, node) => {
      if (!isMap(node) && !isSeq(node)) return undefined;
      if (node.items.length > MAX_ENTRIES) {
        const text = message("yaml.entries", { count: node.items.length, most: MAX_ENTRIES });
        found.push({ offset: offsetOf(node), text });
        return visit.SKIP;
      }
      const seen = new Set<unknown>();
      for (const { key } of isMap(node) ? node.items : []) {
        if (!isScalar(key)) continue;
        if (seen.has(key.value)) found.push({ offset: offsetOf(key), text: message("yaml.twice") });
        seen.add(key.value);
      }
      return undefined;
    },
  });
  return found;
}

function startOf(node: unknown): number | undefined {
  return (node as Node | null | undefined)?.range?.[0];
}

/** The largest file in bytes, above any profile that a person writes. The limit protects against reading a wrong file. */
const MAX_FILE_BYTES = 1_048_576;
/** Options of the parser. It doesn't check for duplicate keys, because `excessIn` finds them. */
const PARSING = { prettyErrors: false, stringKeys: true, merge: false, uniqueKeys: false } as const;
/** Keys that would change an object's behavior instead of its data. */
const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

export type DataPath = readonly (string | number)[];

/**
 * A parsed YAML file that still knows the line and column of each value.
 *
 * Schemas and checks read `data` and report a fault by its path. `problemAt` turns the path into a place with an excerpt; for a missing
 * value it uses the nearest enclosing value. There are two other kinds of sources besides a plain file: the operator's file merged with the
 * set-up's file (`set-up.ts`), and a file without its faulty entries (`entries.ts`). In these, too, a problem points at the file and line
 * that the value comes from. A source never changes. It holds the whole document, so it is dropped once the configuration is read.
 */
export interface YamlSource {
  readonly file: string;
  readonly data: unknown;
  /**
   * Returns a problem with the value at `path`, or with its key. If the file has no such value, the problem points at the nearest enclosing
   * value.
   */
  problemAt(path: DataPath, text: Text, options?: ProblemOptions): Problem;
  /** Returns a scalar as written, before YAML reads 030001 as 30001 and 0x10 as 16; null if the value is missing or not a scalar. */
  writtenAt(path: DataPath): string | null;
}

export interface ProblemOptions {
  readonly at?: "key" | "value";
  readonly hint?: Text | undefined;
}

/** A fault that a check found: the path of the value, the text, and options of `problemAt`. */
export type Fault = readonly [path: string | DataPath, text: Text, options?: ProblemOptions | undefined];

/** Options for a fault of a key instead of its value. */
export const AT_KEY = { at: "key" } as const;

/** Returns a section's faults with `base` in front of their paths. */
export function within(base: DataPath, faults: readonly Fault[]): readonly Fault[] {
  return faults.map(([path, text, options]) => [[...base, path].flat(), text, options]);
}

export function problemsFrom(source: YamlSource, faults: readonly Fault[]): readonly Problem[] {
  return faults.map(([path, text, options]) => source.problemAt([path].flat(), text, options));
}

/** Returns the value at a path of parsed data; undefined if there is no such value. */
export function valueAt(data: unknown, path: DataPath): unknown {
  return path.reduce<unknown>(
    (at, step) =>
      typeof at === "object" && at !== null && Object.hasOwn(at, step) ? (Reflect.get(at, step) as unknown) : undefined,
    data,
  );
}

/** Advice if the configuration file is missing. */
export const NO_CONFIG_HINT = message("config.no_file_hint");

/** Reads a file of limited size. Throws ConfigError if the file is missing (with the hint), unreadable or too large. */
export function readSource(file: string, hint?: Text): string {
  try {
    const size = statSync(file).size;
    if (size > MAX_FILE_BYTES)
      throw whole(file, message("config.too_many_bytes", { bytes: size, most: MAX_FILE_BYTES }));
    return readFileSync(file, "utf8");
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
    if (code === "ENOENT") throw whole(file, message("config.no_file"), { hint, cause });
    if (code === "EACCES") throw whole(file, message("config.no_right"), { hint: message("config.sudo"), cause });
    throw whole(file, message("config.unreadable_file", { reason: errorText(cause) }), { cause });
  }
}

/** Returns a text's tokens. Throws ConfigError for a text that would take too long to parse. */
function boundedTokens(text: string, file: string, lines: LineCounter): readonly CST.Token[] {
  if (text.length > MAX_FILE_BYTES) throw whole(file, message("config.too_many_characters", { most: MAX_FILE_BYTES }));
  const { tokens, excess } = tokensOf(text, lines);
  if (excess === null) return tokens;
  const end = text.indexOf("\n", excess.offset);
  if (end !== -1) lines.addNewLine(end + 1);
  throw new ConfigError(file, [placer(text, lines)(excess.offset, "", excess.text)]);
}

/** The parser's message for a text of several documents, which only `parseDocument` checks. */
const SEVERAL_DOCUMENTS = "Source contains multiple documents";

/** Makes a document from tokens, like the second half of `parseDocument`, which would split the text into tokens again. */
function documentOf(tokens: readonly CST.Token[], length: number): Document.Parsed {
  const [document, second] = new Composer(PARSING).compose(tokens, true, length);
  if (document === undefined) throw new Error("it makes no document");
  if (second !== undefined) {
    const [from, to] = second.range;
    document.errors.push(new YAMLParseError([from, to], "MULTIPLE_DOCS", SEVERAL_DOCUMENTS));
  }
  return document;
}

/** Parses a text that is a single plain YAML 1.2 document. Pure. Throws ConfigError for any other text. */
export function openYaml(text: string, file: string): YamlSource {
  const lines = new LineCounter();
  const tokens = boundedTokens(text, file, lines);
  try {
    const document = documentOf(tokens, text.length);
    const place = placer(text, lines);
    const faults = [
      ...[...document.errors, ...document.warnings].map((error) => place(error.pos[0], "", yamlText(error.message))),
      ...excessIn(document).map(({ offset, text: fault }) => place(offset, "", fault)),
    ];
    const refused = faults.length > 0 ? faults : forbiddenKeys(document, place);
    if (refused.length > 0) throw new ConfigError(file, refused);
    if (document.contents === null) throw whole(file, message("config.empty"));
    return {
      file,
      data: document.toJS({ maxAliasCount: MAX_ALIASES }) as unknown,
      problemAt: (path, fault, { at = "value", hint } = {}) => ({
        ...place(locate(document, path)[at], pathText(path), fault),
        hint,
      }),
      writtenAt: (path) => {
        const { node } = locate(document, path);
        return isScalar(node) ? (node.source ?? null) : null;
      },
    };
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    // Reports aliases of aliases that exceed the parser's limit.
    throw whole(file, message("config.unparsable", { reason: yamlText(errorMessage(cause)) }));
  }
}

/** Writes a path like tags[3].role. */
export function pathText(path: DataPath): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === "number") return `${text}[${step}]`;
    return text === "" ? step : `${text}.${step}`;
  }, "");
}

/** Returns an error that concerns the whole file. */
export function whole(
  file: string,
  text: Text,
  { hint, cause }: { readonly hint?: Text | undefined; readonly cause?: unknown } = {},
): ConfigError {
  return new ConfigError(file, [{ line: 0, column: 0, path: "", message: text, hint }], cause);
}

type Place = (offset: number, path: string, fault: Text) => Problem;

function placer(text: string, lines: LineCounter): Place {
  return (offset, path, fault) => {
    const { line, col } = lines.linePos(offset);
    const start = offset - (col - 1);
    // Uses the counter's line starts, because a search for the line's end would cost a long line's length for each problem.
    const source = text.slice(start, lines.lineStarts[line]).trimEnd();
    return { line, column: col, path, message: fault, text: source };
  };
}

function forbiddenKeys(document: Document.Parsed, place: Place): readonly Problem[] {
  const problems: Problem[] = [];
  visit(document, {
    Pair: (_, { key }) => {
      if (!isScalar(key) || !FORBIDDEN_KEYS.has(String(key.value))) return;
      problems.push(place(key.range?.[0] ?? 0, "", message("config.key_refused", { key: String(key.value) })));
    },
  });
  return problems;
}

/** Follows a path as far as the document contains it. Returns the offsets of the last key and value found, and the node at the path. */
function locate(document: Document.Parsed, path: DataPath) {
  const resolved = (node: unknown): unknown => (isAlias(node) ? node.resolve(document) : node);
  let node: unknown = document.contents;
  let value = startOf(node) ?? 0;
  let key = value;
  for (const step of path) {
    const parent = resolved(node);
    const pair = isMap(parent)
      ? parent.items.find((item) => isScalar(item.key) && String(item.key.value) === String(step))
      : undefined;
    if (pair === undefined && !isSeq(parent)) return { key: value, value, node: null };
    key = startOf(pair?.key) ?? value;
    node = isSeq(parent) ? parent.items[Number(step)] : pair?.value;
    value = startOf(node) ?? key;
  }
  return { key, value, node: resolved(node) };
}

/**
 * Returns the folder of the agent's socket. Ignores faults in the rest of the file, so that commands still reach a running agent. Throws
 * ConfigError if the file can't be read.
 */
export function runtimeDirOf(file: string): string {
  const { data } = openYaml(readSource(file, NO_CONFIG_HINT), file);
  const given = valueAt(data, ["runtime_dir"]);
  return resolve(dirname(resolve(file)), typeof given === "string" ? given : DEFAULT_RUNTIME_DIR);
}
