import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import Database from "better-sqlite3";
import { expect } from "vitest";
import { storePath } from "../../src/store/open.ts";

/** A short trace of the facts that the derivation makes from a booth's life: each fact in order, with its seq. */

const FILE = fileURLToPath(new URL("../golden/facts.json", import.meta.url));
/** Digits of the hash. Two different lives have the same hash less than once in 10^19. */
const HEX_DIGITS = 16;

/** Counts the facts of each kind and adds a hash of their content: "c3 d2 m12 0123456789abcdef". */
export function traceOf(facts: readonly { readonly kind: string }[]): string {
  const counts = new Map<string, number>();
  for (const { kind } of facts) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  const told = [...counts].map(([kind, count]) => `${kind}${count}`).sort();
  return [...told, hashOf(facts)].join(" ");
}

/** Hashes the value's JSON text. */
export function hashOf(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, HEX_DIGITS);
}

/** Reads all facts of a store, including superseded ones. */
export function storedFacts(folder: string): { readonly seq: number; readonly kind: string; readonly body: string }[] {
  const db = new Database(storePath(folder), { readonly: true });
  try {
    return db
      .prepare<[], { seq: number; kind: string; body: string }>("SELECT seq, kind, body FROM fact ORDER BY seq")
      .all();
  } finally {
    db.close();
  }
}

/**
 * Expects the trace stored under that name in test/golden/facts.json. The golden file is rewritten when facts change on
 * purpose.
 */
export function expectKnown(name: string, trace: string): void {
  const known = JSON.parse(readFileSync(FILE, "utf8")) as Readonly<Record<string, string>>;
  expect({ [name]: trace }).toEqual({ [name]: known[name] });
}
