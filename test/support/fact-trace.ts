import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import Database from "better-sqlite3";
import { expect } from "vitest";
import { storePath } from "../../src/store/open.ts";

/** What the derivation makes of a booth's life, as short as it can be told: every fact, in its order, with its seq. */

const FILE = fileURLToPath(new URL("../golden/facts.json", import.meta.url));
/** Of the hash: two lives that differ have the same one less than once in 10^19. */
const HEX_DIGITS = 16;

/** How many of each kind, and a hash of all that they say: "c3 d2 m12 0123456789abcdef". */
export function traceOf(facts: readonly { readonly kind: string }[]): string {
  const counts = new Map<string, number>();
  for (const { kind } of facts) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  const told = [...counts].map(([kind, count]) => `${kind}${count}`).sort();
  return [...told, hashOf(facts)].join(" ");
}

/** Of the text that JSON makes of it. */
export function hashOf(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, HEX_DIGITS);
}

/** Every fact of a store, those that a later one took the place of among them. */
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

/** The trace is the one of that name in test/golden/facts.json, where it is written anew when what it tells of was changed on purpose. */
export function expectKnown(name: string, trace: string): void {
  const known = JSON.parse(readFileSync(FILE, "utf8")) as Readonly<Record<string, string>>;
  expect({ [name]: trace }).toEqual({ [name]: known[name] });
}
