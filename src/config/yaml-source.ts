import { readFileSync, statSync } from "node:fs";
import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, visit } from "yaml";
import type { Document, Node, Pair } from "yaml";

import { ConfigError } from "./config-error.ts";
import type { Problem } from "./config-error.ts";

/** Larger than any profile that a person keeps; a bound against the wrong file. */
const MAX_FILE_BYTES = 1_048_576;
/** Aliases resolve to copies: without a bound a few lines make gigabytes. */
const MAX_ALIASES = 100;
/** Keys that change an object's behaviour instead of its data. */
const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

export type DataPath = readonly (string | number)[];

/** A parsed YAML file that still knows where each piece of data stands. */
export interface YamlSource {
  readonly file: string;
  readonly data: unknown;
  /** A problem with the value at `path`, or with its key; the nearest enclosing piece where nothing stands there. */
  problemAt(path: DataPath, message: string, options?: ProblemOptions): Problem;
}

export interface ProblemOptions {
  readonly at?: "key" | "value";
  readonly hint?: string | undefined;
}

/** What to do where there is no configuration. */
export const NO_CONFIG_HINT = "copy config/gateway.example.yaml there and adapt it, or name another file with --config";

/** Reads a file of bounded size. Throws ConfigError where it is absent (with the hint), unreadable or too large. */
export function readSource(file: string, hint?: string): string {
  try {
    const size = statSync(file).size;
    if (size > MAX_FILE_BYTES) throw whole(file, `has ${size} bytes, more than ${MAX_FILE_BYTES}`);
    return readFileSync(file, "utf8");
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    throw unreadable(file, cause, hint);
  }
}

function unreadable(file: string, cause: unknown, hint: string | undefined): ConfigError {
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
  const problem = { line: 0, column: 0, path: "" };
  if (code === "ENOENT") {
    const message = "can't be read: there is no such file";
    return new ConfigError(file, [{ ...problem, message, ...(hint === undefined ? {} : { hint }) }], cause);
  }
  if (code === "EACCES") {
    const message = "can't be read: you have no right to";
    return new ConfigError(
      file,
      [{ ...problem, message, hint: "use sudo, or join the group that may read it" }],
      cause,
    );
  }
  return whole(file, `can't be read: ${cause instanceof Error ? cause.message : String(cause)}`, cause);
}

/** Pure. Throws ConfigError for what isn't one plain YAML 1.2 document. */
export function openYaml(text: string, file: string): YamlSource {
  if (text.length > MAX_FILE_BYTES) throw whole(file, `is longer than ${MAX_FILE_BYTES} characters`);
  const lines = new LineCounter();
  try {
    const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, stringKeys: true, merge: false });
    const place = placer(text, lines);
    const faults = [...document.errors, ...document.warnings].map(({ pos, message }) => place(pos[0], "", message));
    const refused = faults.length > 0 ? faults : forbiddenKeys(document, place);
    if (refused.length > 0) throw new ConfigError(file, refused);
    if (document.contents === null) throw whole(file, "is empty");
    const data: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
    return {
      file,
      data,
      problemAt: (path, message, options = {}) => {
        const problem = place(offsetOf(document, path, options.at ?? "value"), pathText(path), message);
        return options.hint === undefined ? problem : { ...problem, hint: options.hint };
      },
    };
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    // Nested too deep for the parser's stack, or more aliases than allowed.
    throw whole(file, `can't be parsed: ${cause instanceof Error ? cause.message : String(cause)}`, cause);
  }
}

/** tags[3].role */
export function pathText(path: DataPath): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === "number") return `${text}[${step}]`;
    return text === "" ? step : `${text}.${step}`;
  }, "");
}

/** A problem of the file as a whole. */
export function whole(file: string, message: string, cause?: unknown): ConfigError {
  return new ConfigError(file, [{ line: 0, column: 0, path: "", message }], cause);
}

type Place = (offset: number, path: string, message: string) => Problem;

function placer(text: string, lines: LineCounter): Place {
  return (offset, path, message) => {
    const { line, col } = lines.linePos(offset);
    const start = offset - (col - 1);
    const end = text.indexOf("\n", start);
    const source = text.slice(start, end === -1 ? undefined : end).trimEnd();
    return { line, column: col, path, message, text: source };
  };
}

function forbiddenKeys(document: Document.Parsed, place: Place): readonly Problem[] {
  const problems: Problem[] = [];
  visit(document, {
    Pair: (_, { key }) => {
      if (!isScalar(key) || !FORBIDDEN_KEYS.has(String(key.value))) return;
      problems.push(place(key.range?.[0] ?? 0, "", `the key "${String(key.value)}" is not allowed`));
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
    offset = (wantsKey ? undefined : startOf(value)) ?? keyStart(pair) ?? offset;
    node = value;
  }
  return offset;
}

function keyStart(pair: Pair | null): number | undefined {
  return pair === null ? undefined : startOf(pair.key);
}

function startOf(node: unknown): number | undefined {
  return (node as Node | null | undefined)?.range?.[0];
}
