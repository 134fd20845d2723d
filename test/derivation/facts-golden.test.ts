import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { step } from "../../src/derivation/fold.ts";
import { emptyState } from "../../src/derivation/state.ts";
import type { Fact } from "../../src/domain/record.ts";
import { expectFacts, hashOf, tracesOf } from "../support/fact-trace.ts";
import { logOf } from "./folds.ts";
import { steppedWalks, type Happening } from "./streams.ts";

/** Seeds of the random lives, and lives per seed. */
const SEEDS = [1, 2, 3, 4, 5, 6];
const LIVES = 20;

interface Life {
  readonly facts: (Fact & { readonly of: number })[];
  /** Hash of the parts of the state that are not facts yet. */
  readonly open: string;
}

/** Folds a life; returns each fact with the record it was made of. */
function lived(walk: readonly Happening[]): Life {
  let state = emptyState();
  const facts: Life["facts"] = [];
  for (const record of logOf(walk)) {
    const next = step(state, record);
    state = next.state;
    facts.push(...next.facts.map((fact) => ({ of: record.seq, ...fact })));
  }
  const { bays, filters, hours, incidents } = state;
  return { facts, open: hashOf([bays, filters, hours, incidents]) };
}

function livesOf(seed: number): Life[] {
  return fc.sample(steppedWalks, { seed, numRuns: LIVES }).map(lived);
}

function openOf(lives: readonly Life[]): string {
  return hashOf(lives.map(({ open }) => open));
}

function told(lives: readonly Life[]): string {
  const { trace, records } = tracesOf(lives.flatMap(({ facts }) => facts));
  return `${trace} ${records} ${openOf(lives)}`;
}

describe("the facts of random booth histories", () => {
  it.each(SEEDS)("equal the golden file byte for byte, including their order (seed %i)", (seed) => {
    const lives = livesOf(seed);
    expectFacts(
      `random lives ${seed}`,
      lives.flatMap(({ facts }) => facts),
      openOf(lives),
    );
  });

  it("no longer equal the golden file if a fact is altered, two facts swap places, or the open state differs", () => {
    const [life] = livesOf(1).filter(({ facts }) => facts.some(({ of }, at) => facts[at + 1]?.of === of));
    if (life === undefined) throw new Error("no life has two facts of one record");
    const { facts } = life;
    const at = facts.findIndex(({ of }, index) => facts[index + 1]?.of === of);
    const [one, two] = facts.slice(at, at + 2);
    if (one === undefined || two === undefined) throw new Error("two facts");
    const swapped = [...facts.slice(0, at), two, one, ...facts.slice(at + 2)];
    const altered = facts.map((fact, index) => (index === at ? { ...fact, at: fact.at + 1 } : fact));
    const moved = facts.map((fact, index) => (index === at ? { ...fact, of: fact.of + 1 } : fact));
    const right = told([life]);
    const wrong = [swapped, altered, moved].map((other) => told([{ ...life, facts: other }]));
    for (const other of [...wrong, told([{ ...life, open: "" }])]) expect(other).not.toBe(right);
  });
});
