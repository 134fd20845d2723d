import { message, type Message, type Text } from "../domain/message.ts";
import type { z } from "zod";
import { ConfigError, type Problem } from "./config-error.ts";
import { childrenOf } from "./marks.ts";
import { masked } from "./mask.ts";
import { didYouMean } from "./nearest.ts";
import { shapeText } from "./shape-faults.ts";
import { type DataPath, valueAt, type YamlSource } from "./yaml-source.ts";

type Issue = z.core.$ZodIssue;

/** Options for a single parse: the schema is interpreted, because compiling a validator for it would take longer. */
const ONCE = { jitless: true } as const;

/** Validates a file's data. Throws a ConfigError with every problem and its place, in the file's order. */
export function parseWith<S extends z.ZodType>(schema: S, source: YamlSource): z.output<S> {
  const result = schema.safeParse(source.data, ONCE);
  if (result.success) return result.data;
  throw new ConfigError(source.file, explained(result.error.issues, schema, source));
}

/** Returns the faults that the schema finds in a file's data, in the file's order. */
export function problemsOf(schema: z.ZodType, source: YamlSource): readonly Problem[] {
  const result = schema.safeParse(source.data, ONCE);
  return result.success ? [] : explained(result.error.issues, schema, source);
}

/** The maximum number of problems to explain. Each problem takes a search of the file and a comparison with every valid name. */
const MAX_EXPLAINED = 300;

/**
 * Explains the schema's issues as problems with places. Throws a ConfigError if there are too many issues, because the file is then
 * probably of another kind.
 */
function explained(issues: readonly Issue[], schema: z.ZodType, source: YamlSource): readonly Problem[] {
  const problems: Problem[] = [];
  for (const issue of issues) {
    problems.push(...explain(issue, schema, source));
    if (problems.length > MAX_EXPLAINED) throw new ConfigError(source.file, inOrder(problems));
  }
  return inOrder(problems);
}

/** Throws ConfigError if there are problems. */
export function refuseIfAny(problems: readonly Problem[], source: YamlSource): void {
  if (problems.length > 0) throw new ConfigError(source.file, inOrder(problems));
}

function inOrder(problems: readonly Problem[]): readonly Problem[] {
  return problems.toSorted((a, b) => a.line - b.line || a.column - b.column);
}

function explain(issue: Issue, schema: z.ZodType, source: YamlSource): readonly Problem[] {
  const path = issue.path.filter((step) => typeof step !== "symbol");
  if (issue.code === "unrecognized_keys") {
    const names = keysAt(schema, path);
    return issue.keys.map((key) =>
      source.problemAt([...path, key], message("config.unknown_key", { key }), {
        at: "key",
        hint: didYouMean(key, names) ?? listed(names),
      }),
    );
  }
  const found = valueAt(source.data, path);
  if (found === undefined && path.length > 0) {
    return [source.problemAt(path, message("config.missing_key", { key: String(path.at(-1)) }))];
  }
  if (issue.code === "invalid_key") {
    return [source.problemAt(path, wordsOf(issue.issues[0] ?? issue), { at: "key" })];
  }
  const value = quotedAt(path, found);
  if (issue.code === "invalid_value") {
    const names = issue.values.map(String);
    const hint = (typeof found === "string" ? didYouMean(found, names) : undefined) ?? listed(names);
    return [source.problemAt(path, message("config.unknown_value", { value }), { hint })];
  }
  const isPlain = typeof found === "number" || typeof found === "boolean";
  const lacksQuotes = isPlain && issue.code === "invalid_type" && issue.expected === "string";
  return [source.problemAt(path, sentence(issue, value), { hint: lacksQuotes ? message("config.quotes") : undefined })];
}

/** Quotes a value for an error. Hides a value whose key suggests a secret. */
function quotedAt(path: DataPath, value: unknown): Text {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (Array.isArray(value)) return message("config.a_list");
  if (typeof value !== "string")
    return message(typeof value === "object" && value !== null ? "config.mapping" : "config.nothing");
  const key = path.findLast((step) => typeof step === "string") ?? "";
  return masked(`${key}: "${value.slice(0, 60)}"`).slice(key.length + 2);
}

function sentence(issue: Issue, found: Text): Message {
  switch (issue.code) {
    case "invalid_type":
      return message("config.expected", { kind: article(issue.expected), found });
    case "too_small":
      return message("config.too_small", { value: found, least: amount(issue.minimum, issue.origin) });
    case "too_big":
      return message("config.too_large", { value: found, most: amount(issue.maximum, issue.origin) });
    default:
      return message("config.found", { message: wordsOf(issue), found });
  }
}

/** Returns the message that a rule of the schema names, or else Zod's own text. */
function wordsOf(issue: Pick<Issue, "code" | "message">): Text {
  const named = shapeText(issue.message);
  return named === null && issue.code === "invalid_union" ? message("config.invalid") : (named ?? issue.message);
}

function amount(limit: number | bigint, origin: string): Text {
  const count = Number(limit);
  if (origin === "string") return message("config.characters", { count });
  return origin === "array" ? message("config.entries", { count }) : String(limit);
}

function article(type: string): Text {
  switch (type) {
    case "object":
    case "record":
      return message("config.mapping");
    case "array":
    case "tuple":
      return message("config.a_list");
    case "int":
      return message("config.whole_number");
    case "boolean":
      return message("config.true_or_false");
    case "string":
      return message("config.text");
    case "number":
      return message("config.a_number");
    default:
      return `a ${type}`;
  }
}

function listed(names: readonly string[]): Message | undefined {
  return names.length === 0 ? undefined : message("config.one_of", { names: names.join(", ") });
}

/** Returns the keys that the schema allows in the mapping at a path. */
function keysAt(schema: z.ZodType, path: DataPath): readonly string[] {
  const at = path.reduce<readonly (readonly [string, unknown])[]>((children, step) => {
    const child = children.find(([key]) => key === step) ?? children.find(([key]) => key === "*");
    return childrenOf(child?.[1]);
  }, childrenOf(schema));
  return at.flatMap(([key]) => (key === "*" ? [] : [key]));
}
