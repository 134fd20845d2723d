import { readdirSync } from "node:fs";
import { registerHooks } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { EndlessError, mutation } from "./runtime.ts";
import { cases, type Case } from "./stand-in.ts";

/**
 * Runs in a copy of the tree with all mutants: loads the tests of the derivation once, then tries the mutants that the parent names,
 * one after another. MUTANT: a mutant that is active from the start, for constants that are evaluated when a module is loaded.
 */
const TESTS = fileURLToPath(new URL("../derivation", import.meta.url));
/** A test that needs so many times the operator calls of a run without a fault counts as endless. */
const ENDLESS = 20;
const ENDLESS_AT_LEAST = 2_000_000;

export type Outcome = "survived" | "found" | "unreached";

interface Known extends Case {
  readonly reached: ReadonlySet<number>;
  readonly ms: number;
  readonly calls: number;
}

registerHooks({
  resolve: (name, context, next) =>
    name === "vitest"
      ? { url: new URL("./stand-in.ts", import.meta.url).href, shortCircuit: true }
      : next(name, context),
});

async function loaded(): Promise<readonly Case[]> {
  const names = readdirSync(TESTS, { recursive: true, encoding: "utf8" });
  // Only unit tests: the nightly tests repeat them with more lives.
  const files = names.filter((name) => name.endsWith(".test.ts") && !name.endsWith(".nightly.test.ts"));
  for (const file of files.sort()) await import(pathToFileURL(join(TESTS, file)).href);
  // Tests of the laws themselves say nothing about the derivation.
  return cases.filter(({ name }) => !name.startsWith("notices "));
}

function passes(one: Case): boolean {
  try {
    one.run();
    return true;
  } catch {
    // Any exception means that the test noticed the fault.
    return false;
  }
}

/** Runs each test once without a fault, to learn which mutants it reaches and what it costs. */
function measured(all: readonly Case[]): Known[] {
  return all.map((one) => {
    mutation.reached.clear();
    const began = performance.now();
    const before = 1e12;
    mutation.left = before;
    if (!passes(one)) throw new Error(`fails without a fault: ${one.name}`);
    const ms = performance.now() - began;
    const calls = before - mutation.left;
    return { ...one, reached: new Set(mutation.reached), ms, calls };
  });
}

function tried(id: number, known: readonly Known[], recent: Known[]): { outcome: Outcome; by: string } {
  const reaching = known.filter(({ reached }) => reached.has(id));
  if (reaching.length === 0) return { outcome: "unreached", by: "" };
  // A test that found the previous mutants probably finds this one too.
  const first = recent.filter((one) => one.reached.has(id));
  for (const one of new Set([...first, ...reaching])) {
    mutation.left = Math.max(one.calls * ENDLESS, ENDLESS_AT_LEAST);
    mutation.active = id;
    const found = !passes(one);
    mutation.active = -1;
    if (!found) continue;
    recent.splice(0, recent.length, one, ...recent.filter((other) => other !== one).slice(0, 7));
    return { outcome: "found", by: one.name };
  }
  return { outcome: "survived", by: "" };
}

const fixed = process.env["MUTANT"];
if (fixed !== undefined) {
  mutation.active = Number(fixed);
  let outcome: Outcome = "survived";
  try {
    const all = await loaded();
    mutation.left = 5e8;
    if (!all.every(passes)) outcome = "found";
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    outcome = error instanceof EndlessError || outcome === "survived" ? "found" : outcome;
  }
  process.send?.({ id: Number(fixed), outcome, by: "" });
} else {
  const known = measured(await loaded()).sort((a, b) => a.ms - b.ms);
  const recent: Known[] = [];
  process.send?.({ ready: known.length, ms: known.reduce((sum, { ms }) => sum + ms, 0) });
  process.on("message", (id: number) => {
    process.send?.({ id, ...tried(id, known, recent) });
  });
}
