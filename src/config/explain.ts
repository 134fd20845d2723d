import { say } from "../domain/sentences.ts";
import { z } from "zod";
import { ConfigError, type Problem } from "./config-error.ts";
import { masked } from "./mask.ts";
import { didYouMean } from "./nearest.ts";
import type { DataPath, YamlSource } from "./yaml-source.ts";

type Issue = z.core.$ZodIssue;

/** A file is read once: making a function for it takes longer than doing without, and keeps it. */
const ONCE = { jitless: true } as const;

/** Validates a file's data. Throws ConfigError that names every problem with its place, in the file's order. */
export function parseWith<S extends z.ZodType>(schema: S, source: YamlSource): z.output<S> {
  const result = schema.safeParse(source.data, ONCE);
  if (result.success) return result.data;
  throw new ConfigError(source.file, explained(result.error.issues, schema, source));
}

/** What the schema has against a file's data, in the file's order. */
export function problemsOf(schema: z.ZodType, source: YamlSource): readonly Problem[] {
  const result = schema.safeParse(source.data, ONCE);
  return result.success ? [] : explained(result.error.issues, schema, source);
}

/** More than that many nobody reads, and each is looked up in the file and compared with every name that it may have meant. */
const MAX_EXPLAINED = 300;

/** Throws ConfigError where there are so many that the file as a whole must be another one. */
function explained(issues: readonly Issue[], schema: z.ZodType, source: YamlSource): readonly Problem[] {
  const problems: Problem[] = [];
  for (const issue of issues) {
    problems.push(...explain(issue, schema, source));
    if (problems.length > MAX_EXPLAINED) throw new ConfigError(source.file, inOrder(problems));
  }
  return inOrder(problems);
}

/** Throws where there are problems. */
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
      source.problemAt([...path, key], say("config.unknown_key", { key }), {
        at: "key",
        hint: didYouMean(key, names) ?? listed(names),
      }),
    );
  }
  const found = valueAt(source.data, path);
  if (found === undefined && path.length > 0) {
    return [source.problemAt(path, say("config.missing_key", { key: String(path.at(-1)) }))];
  }
  if (issue.code === "invalid_key") {
    return [source.problemAt(path, issue.issues[0]?.message ?? issue.message, { at: "key" })];
  }
  if (issue.code === "invalid_value") {
    const names = issue.values.map(String);
    const hint = (typeof found === "string" ? didYouMean(found, names) : undefined) ?? listed(names);
    return [source.problemAt(path, say("config.unknown_value", { value: quotedAt(path, found) }), { hint })];
  }
  const quoted = quotedAt(path, found);
  const isPlain = typeof found === "number" || typeof found === "boolean";
  const unquoted = isPlain && issue.code === "invalid_type" && issue.expected === "string";
  return [source.problemAt(path, sentence(issue, quoted), { hint: unquoted ? say("config.quotes") : undefined })];
}

/** A value as an error quotes it; one that may be a secret by its key is hidden. */
function quotedAt(path: DataPath, value: unknown): string {
  const key = path.findLast((step) => typeof step === "string") ?? "";
  const quoted = shown(value);
  return typeof value === "string" ? masked(`${key}: ${quoted}`).slice(key.length + 2) : quoted;
}

function sentence(issue: Issue, found: string): string {
  if (issue.code === "invalid_type") return say("config.expected", { kind: article(issue.expected), found });
  if (issue.code === "too_small")
    return say("config.too_small", { value: found, least: `${String(issue.minimum)}${unitOf(issue.origin)}` });
  if (issue.code === "too_big")
    return say("config.too_large", { value: found, most: `${String(issue.maximum)}${unitOf(issue.origin)}` });
  return say("config.found", { message: issue.message, found });
}

function unitOf(origin: string): string {
  if (origin === "string") return " characters";
  return origin === "array" ? " entries" : "";
}

function article(type: string): string {
  const names: Readonly<Record<string, string>> = {
    object: say("config.mapping"),
    record: say("config.mapping"),
    array: say("config.a_list"),
    tuple: say("config.a_list"),
    int: say("config.whole_number"),
    boolean: say("config.true_or_false"),
    string: "text",
  };
  return names[type] ?? `a ${type}`;
}

function shown(value: unknown): string {
  if (typeof value === "string") return `"${value.slice(0, 60)}"`;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (Array.isArray(value)) return say("config.a_list");
  return isObject(value) ? say("config.a_mapping") : "nothing";
}

function listed(names: readonly string[]): string | undefined {
  return names.length === 0 ? undefined : say("config.one_of", { names: names.join(", ") });
}

function valueAt(data: unknown, path: DataPath): unknown {
  return path.reduce<unknown>(
    (value, step) => (isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined),
    data,
  );
}

/** Made once for each schema: a file may have a thousand unknown keys. */
const jsonSchemas = new WeakMap<z.ZodType, unknown>();

function jsonSchemaOf(schema: z.ZodType): unknown {
  const made = jsonSchemas.get(schema) ?? z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  jsonSchemas.set(schema, made);
  return made;
}

/** Names that a mapping at this path may have; read off the JSON Schema, whose shape is documented. */
function keysAt(schema: z.ZodType, path: DataPath): readonly string[] {
  let node = jsonSchemaOf(schema);
  for (const step of path) {
    if (!isObject(node)) return [];
    const properties = isObject(node["properties"]) ? node["properties"] : {};
    node = typeof step === "number" ? node["items"] : (properties[step] ?? node["additionalProperties"]);
  }
  const properties = isObject(node) ? node["properties"] : undefined;
  return isObject(properties) ? Object.keys(properties) : [];
}

function isObject(value: unknown): value is Record<string | number, unknown> {
  return typeof value === "object" && value !== null;
}
