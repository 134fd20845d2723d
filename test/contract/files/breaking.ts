import { type Json, kindOf } from "./json.ts";

/**
 * A frozen name of the contract: an operation, a parameter, or a field of a body, an answer or a message. `type` is empty for an operation.
 * `is_sent` tells that a client sends it, so a new one must be optional.
 */
export interface Entry {
  readonly name: string;
  readonly type: string;
  readonly is_required: boolean;
  readonly is_deprecated: boolean;
}

export type Entries = ReadonlyMap<string, Entry>;

const REQUIRED = "!";
const DEPRECATED = " (deprecated)";

/** Writes entries as lines: "name: type!". */
export function textOf(entries: Entries): string {
  const lines = [...entries.values()].map(
    ({ name, type, is_required, is_deprecated }) =>
      `${name}: ${type}${is_required ? REQUIRED : ""}${is_deprecated ? DEPRECATED : ""}`,
  );
  return `${lines.sort().join("\n")}\n`;
}

export function entriesIn(text: string): Entries {
  const entries = text
    .split("\n")
    .filter((line) => line !== "")
    .map((line): Entry => {
      const is_deprecated = line.endsWith(DEPRECATED);
      const whole = is_deprecated ? line.slice(0, -DEPRECATED.length) : line;
      const is_required = whole.endsWith(REQUIRED);
      const [name = "", type = ""] = (is_required ? whole.slice(0, -REQUIRED.length) : whole).split(/: (.*)$/);
      return { name, type, is_required, is_deprecated };
    });
  return new Map(entries.map((entry) => [entry.name, entry]));
}

/** Returns the entries of an OpenAPI document. */
export function entriesOfDocument(document: Json, place: string): Entry[] {
  const components = ((document["components"] as Json | undefined)?.["schemas"] ?? {}) as Json;
  const entries: Entry[] = [];
  for (const [path, methods] of Object.entries(document["paths"] as Json))
    for (const [method, operation] of Object.entries(methods as Json)) {
      const of = operation as Json;
      const name = `${place} ${method.toUpperCase()} ${path}`;
      const is_deprecated = of["deprecated"] === true;
      entries.push({ name, type: "operation", is_required: false, is_deprecated });
      for (const one of (of["parameters"] ?? []) as Json[])
        entries.push({
          name: `${name} ${String(one["in"])} ${String(one["name"])}`,
          type: "string",
          is_required: one["required"] === true,
          is_deprecated: is_deprecated || one["deprecated"] === true,
        });
      const fields = (part: unknown, what: string): void => {
        for (const schema of schemasIn(part))
          entries.push(...fieldsOf(schema, { name: `${name} ${what}`, components, is_deprecated }));
      };
      fields(of["requestBody"], "body");
      for (const [status, answer] of Object.entries((of["responses"] ?? {}) as Json))
        if (status.startsWith("2")) {
          entries.push({ name: `${name} ${status}`, type: "answer", is_required: false, is_deprecated });
          fields(answer, status);
        }
    }
  return entries;
}

/** Returns the entries of a message's JSON Schema. */
export function entriesOfSchema(schema: Json, name: string): Entry[] {
  return fieldsOf(schema, { name, components: {}, is_deprecated: false });
}

function schemasIn(part: unknown): Json[] {
  const content = ((part as Json | undefined)?.["content"] ?? {}) as Json;
  return Object.entries(content)
    .filter(([type]) => type === "application/json")
    .map(([, one]) => (one as Json)["schema"] as Json);
}

interface At {
  readonly name: string;
  readonly components: Json;
  readonly is_deprecated: boolean;
}

function fieldsOf(schema: Json, at: At): Entry[] {
  const { name, components } = at;
  const found = resolved(schema, components);
  const required = (found["required"] ?? []) as string[];
  const own = Object.entries((found["properties"] ?? {}) as Json).flatMap(([field, inner]) => {
    const is_deprecated = at.is_deprecated || (inner as Json)["deprecated"] === true;
    const inside: At = { ...at, name: `${name} ${field}`, is_deprecated };
    const type = typeOf(inner as Json, components);
    return [
      { name: inside.name, type, is_required: required.includes(field), is_deprecated },
      ...fieldsOf(inner as Json, inside),
    ];
  });
  const items =
    kindOf(found["items"]) === "object" ? fieldsOf(found["items"] as Json, { ...at, name: `${name} []` }) : [];
  const values = found["additionalProperties"];
  const others = kindOf(values) === "object" ? fieldsOf(values as Json, { ...at, name: `${name} *` }) : [];
  const branches = branchesOf(found);
  const names = branches.length > 1 ? branches.map((one, index) => tagOf(one) ?? String(index)) : [];
  const alternatives = branches.filter((one) => resolved(one, components)["type"] !== "null");
  const choices = branches.flatMap((one, index) =>
    fieldsOf(one, alternatives.length > 1 ? { ...at, name: `${name} |${names[index] ?? ""}` } : at),
  );
  return [...own, ...items, ...others, ...choices];
}

/** Returns the word that tells an alternative from the others, such as the type of a command. */
function tagOf({ properties }: Json): string | undefined {
  const constants = Object.values((properties ?? {}) as Json).map((one) => (one as Json)["const"]);
  const [tag] = constants.filter((one) => typeof one === "string");
  return tag;
}

function branchesOf(schema: Json): Json[] {
  return (schema["anyOf"] ?? schema["oneOf"] ?? []) as Json[];
}

function resolved(schema: Json, components: Json): Json {
  const reference = schema["$ref"];
  if (typeof reference !== "string") return schema;
  return resolved((components[reference.split("/").at(-1) ?? ""] ?? {}) as Json, components);
}

/** Returns the types of a value, such as null|string, or its allowed words, such as "Active","Idle". */
function typeOf(schema: Json, components: Json): string {
  const found = resolved(schema, components);
  const words = "const" in found ? [found["const"]] : ((found["enum"] ?? []) as unknown[]);
  const types = words.length > 0 ? words.map((word) => JSON.stringify(word)) : [found["type"] ?? []].flat().map(String);
  const all = [...types, ...branchesOf(found).flatMap((one) => typeOf(one, components).split("|"))];
  return [...new Set(all.filter((one) => one !== ""))].sort().join("|") || "any";
}

/**
 * Returns the breaking changes from one version to another, as the interface document defines them: an operation, field or parameter was
 * removed without having been deprecated; an operation moved; a name became required. A changed type is one too.
 */
export function breakingChanges(before: Entries, after: Entries): string[] {
  const changes: string[] = [];
  for (const [name, was] of before) {
    const is = after.get(name);
    if (is === undefined) {
      if (!was.is_deprecated) changes.push(`removed: ${name}`);
    } else {
      if (is.is_required && !was.is_required) changes.push(`became required: ${name}`);
      if (!allows(is.type, was.type)) changes.push(`changed its type from ${was.type} to ${is.type}: ${name}`);
    }
  }
  for (const [name, { is_required }] of after) {
    const isOfKnown = before.has(parentOf(name, before));
    if (is_required && !before.has(name) && isOfKnown) changes.push(`new and required: ${name}`);
  }
  return changes;
}

/** Whether each word that was allowed still is, and no other type is. */
function allows(is: string, was: string): boolean {
  const words = is.split("|");
  const isWord = (one: string): boolean => one.startsWith('"');
  const kept = was.split("|");
  return kept.every((one) => words.includes(one)) && words.every((one) => isWord(one) || kept.includes(one));
}

/** Returns the longest known beginning of a name; "": none is known. */
function parentOf(name: string, known: Entries): string {
  for (let at = name.lastIndexOf(" "); at > 0; at = name.lastIndexOf(" ", at - 1)) {
    const parent = name.slice(0, at);
    if (known.has(parent)) return parent;
  }
  return "";
}

/**
 * Removes from "required" each field that the frozen version doesn't require: a service of that version doesn't send it. Changes the
 * document.
 */
export function relaxAnswers(document: Json, place: string, frozen: Entries): void {
  if (frozen.size === 0) return;
  const components = ((document["components"] as Json | undefined)?.["schemas"] ?? {}) as Json;
  for (const [path, methods] of Object.entries(document["paths"] as Json))
    for (const [method, operation] of Object.entries(methods as Json)) {
      const name = `${place} ${method.toUpperCase()} ${path}`;
      if (!frozen.has(name)) continue;
      for (const [status, answer] of Object.entries(((operation as Json)["responses"] ?? {}) as Json))
        for (const schema of status.startsWith("2") ? schemasIn(answer) : [])
          relax(schema, { name: `${name} ${status}`, components, frozen });
    }
}

function relax(schema: Json, at: { name: string; components: Json; frozen: Entries }): void {
  const { name, components, frozen } = at;
  const found = resolved(schema, components);
  if (Array.isArray(found["required"]))
    found["required"] = (found["required"] as string[]).filter((field) => {
      const known = frozen.get(`${name} ${field}`);
      return known?.is_required === true;
    });
  for (const [field, inner] of Object.entries((found["properties"] ?? {}) as Json))
    relax(inner as Json, { ...at, name: `${name} ${field}` });
  if (kindOf(found["items"]) === "object") relax(found["items"] as Json, { ...at, name: `${name} []` });
  if (kindOf(found["additionalProperties"]) === "object")
    relax(found["additionalProperties"] as Json, { ...at, name: `${name} *` });
  const branches = branchesOf(found).filter((one) => resolved(one, components)["type"] !== "null");
  const [only] = branches;
  if (branches.length === 1 && only !== undefined) relax(only, at);
}
