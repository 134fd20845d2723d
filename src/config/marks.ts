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

/** Found once for each schema, which takes some milliseconds. */
const known = new WeakMap<z.ZodType, readonly MarkedKey[]>();

/** Returns every marked setting of a schema. */
export function markedKeys(schema: z.ZodType): readonly MarkedKey[] {
  const found = known.get(schema) ?? keysIn(z.toJSONSchema(schema, { io: "input", metadata: marks }), []);
  known.set(schema, found);
  return found;
}

function keysIn(node: unknown, keys: readonly string[]): readonly MarkedKey[] {
  if (!isObject(node)) return [];
  const { holds, properties, items, additionalProperties } = node;
  const own = typeof holds === "string" ? [{ keys, holds: holds as Holds }] : [];
  const named = isObject(properties) ? Object.entries(properties) : [];
  return [
    ...own,
    ...named.flatMap(([key, inner]) => keysIn(inner, [...keys, key])),
    ...[items, additionalProperties].flatMap((inner) => keysIn(inner, [...keys, "*"])),
  ];
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
