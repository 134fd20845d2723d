import { z } from "zod";

/**
 * The kinds of marks. A mark says that a setting names a file with a secret or a certificate, or that the setting itself is a secret. The
 * mark is part of the setting's schema, so the file checks and the scrubber (which removes secrets from texts) need no list of settings.
 *
 * password: a file with a secret that only its owner may read. first_key: like password, but the file may be missing. pin, token: like
 * password, with a minimum length. own_key: a private key that only its owner may read; key: any private key. authorities: certificates in
 * PEM form. certificate: a certificate in PEM or DER form. address: a URL whose path and query may be a secret.
 */
export type Holds =
  "password" | "first_key" | "pin" | "token" | "own_key" | "key" | "authorities" | "certificate" | "address";

const marks = z.registry<{ readonly holds: Holds }>();

/** Marks a setting. Must be called last, because a schema derived from the result has no mark. */
export function marked<S extends z.ZodType>(schema: S, holds: Holds): S {
  marks.add(schema, { holds });
  return schema;
}

/** A marked setting: its keys, with "*" for each entry of a list or mapping. */
export interface MarkedKey {
  readonly keys: readonly string[];
  readonly holds: Holds;
}

/** Returns every marked setting of a schema. */
export function markedKeys(schema: unknown, keys: readonly string[] = []): readonly MarkedKey[] {
  const holds = schema instanceof z.ZodType ? marks.get(schema)?.holds : undefined;
  return [
    ...(holds === undefined ? [] : [{ keys, holds }]),
    ...childrenOf(schema).flatMap(([key, child]) => markedKeys(child, [...keys, key])),
  ];
}

/** Returns the schemas of an object's keys. The entries of a list or mapping have the key "*". Unwraps optional and default. */
export function childrenOf(schema: unknown): readonly (readonly [key: string, schema: unknown])[] {
  if (schema instanceof z.ZodObject) return Object.entries(schema.shape);
  if (schema instanceof z.ZodArray) return [["*", schema.element]];
  if (schema instanceof z.ZodRecord) return [["*", schema.valueType]];
  return schema instanceof z.ZodType && "innerType" in schema.def ? childrenOf(schema.def.innerType) : [];
}
