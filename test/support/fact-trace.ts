import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import Database from "better-sqlite3";
import { expect } from "vitest";
import { KIND } from "../../src/domain/record.ts";
import { storePath } from "../../src/store/open.ts";

/** A short trace of the facts that the derivation makes from a booth's life: each fact in order, with its seq. */

const FILE = fileURLToPath(new URL("../golden/facts.json", import.meta.url));
/** Digits of the hash. Two different lives have the same hash less than once in 10^19. */
const HEX_DIGITS = 16;

/** Kinds of facts that have a trace of their own, so that the trace of the other facts stays the same without them. */
const RECORD_KINDS: readonly string[] = [KIND.filterDay, KIND.bake];

interface Traced {
  readonly kind: string;
  readonly seq?: number;
}

/**
 * Returns the trace of all facts except filter days and bakes, with the seqs that they would have without these, and the trace of filter
 * days and bakes.
 */
export function tracesOf(facts: readonly Traced[]): { readonly trace: string; readonly records: string } {
  let left = 0;
  let before = 0;
  const others = facts.flatMap((fact) => {
    const { kind, seq } = fact;
    // Counts anew in the facts of the next box.
    if (seq !== undefined && seq < before) left = 0;
    before = seq ?? 0;
    if (RECORD_KINDS.includes(kind)) {
      left += 1;
      return [];
    }
    return seq === undefined ? [fact] : [{ ...fact, seq: seq - left }];
  });
  const records = facts.filter(({ kind }) => RECORD_KINDS.includes(kind)).map(({ seq: _seq, ...fact }) => fact);
  return { trace: traceOf(others), records: traceOf(records) };
}

/** Counts the facts of each kind and adds a hash of their content: "c3 d2 m12 0123456789abcdef". */
function traceOf(facts: readonly Traced[]): string {
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

/** Expects the traces of these facts. `more`: another hash to compare. */
export function expectFacts(name: string, facts: readonly Traced[], more?: string): void {
  const { trace, records } = tracesOf(facts);
  expectKnown(name, more === undefined ? trace : `${trace} ${more}`);
  expectKnown(`${name}: filter days and bakes`, records);
}

/**
 * Expects the trace stored under that name in test/golden/facts.json. The golden file is rewritten when facts change on
 * purpose.
 */
function expectKnown(name: string, trace: string): void {
  const known = JSON.parse(readFileSync(FILE, "utf8")) as Readonly<Record<string, string>>;
  expect({ [name]: trace }).toEqual({ [name]: known[name] });
}
