import { z } from "zod";

/**
 * Settings that name a file with a secret or a certificate, or that are a secret. Each is marked at its place in the schema, so
 * that whoever judges files, or keeps secrets out of texts, finds the settings of every section without a list of its own.
 *
 * password: a file with a secret, which only its owner may read. first_key: the same, but it may be absent. pin, token: the same,
 * with a least length. own_key: a private key, which only its owner may read; key: any private key. authorities: certificates in
 * PEM form. certificate: one in PEM or DER form. address: a URL whose path and query may be a secret.
 */
export type Holds =
  "password" | "first_key" | "pin" | "token" | "own_key" | "key" | "authorities" | "certificate" | "address";

const marks = z.registry<{ readonly holds: Holds }>();

/** Marks a setting. To be called last: a schema that is made of it has no mark. */
export function marked<S extends z.ZodType>(schema: S, holds: Holds): S {
  marks.add(schema, { holds });
  return schema;
}

/** A setting of a schema: its keys, with "*" for each entry of a list or mapping. */
export interface MarkedKey {
  readonly keys: readonly string[];
  readonly holds: Holds;
}

/** Schemas that wrap one other schema. */
const WRAPPERS = [z.ZodExactOptional, z.ZodOptional, z.ZodNullable, z.ZodDefault, z.ZodPrefault];

/** Returns every marked setting of a schema. */
export function markedKeys(schema: z.ZodType): readonly MarkedKey[] {
  return keysIn(schema, []);
}

function keysIn(schema: unknown, keys: readonly string[]): readonly MarkedKey[] {
  if (!(schema instanceof z.ZodType)) return [];
  const holds = marks.get(schema)?.holds;
  return [...(holds === undefined ? [] : [{ keys, holds }]), ...keysBelow(schema, keys)];
}

/** Marked settings of the entries of an object, a list or a mapping, and of the schema that another one wraps. */
function keysBelow(schema: z.ZodType, keys: readonly string[]): readonly MarkedKey[] {
  if (schema instanceof z.ZodObject) {
    return Object.entries(schema.shape).flatMap(([key, inner]) => keysIn(inner, [...keys, key]));
  }
  if (schema instanceof z.ZodArray) return keysIn(schema.element, [...keys, "*"]);
  if (schema instanceof z.ZodRecord) return keysIn(schema.valueType, [...keys, "*"]);
  if (schema instanceof z.ZodPipe) return keysIn(schema.in, keys);
  return WRAPPERS.some((kind) => schema instanceof kind) ? keysIn(Reflect.get(schema.def, "innerType"), keys) : [];
}
