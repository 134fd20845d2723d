import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { casesOf } from "../support/seed.ts";

/** What must hold for every life of a booth, with faults that it is known to notice. */
export interface Law {
  readonly name: string;
  /** Throws with the smallest life that breaks it. */
  readonly check: (seed: number) => void;
  readonly planted: readonly { readonly fault: string; readonly isNoticed: (seed: number) => boolean }[];
}

/** `S` is what the law is about (a fold, a set of reports), `T` a life. */
export interface LawOf<S, T> {
  readonly name: string;
  readonly lives: fc.Arbitrary<T>;
  readonly right: S;
  readonly holds: (subject: S, life: T) => boolean;
  /** The same subject with a fault each, by what is wrong with it. */
  readonly planted: Readonly<Record<string, S>>;
}

/** Random lives per law, others in each run; by night there are more (laws.nightly). */
const RUNS = 250;
/** A planted fault is looked for in more of them: the first that shows it is the last. */
const PLANTED_RUNS = 10_000;

export function law<S, T>({ name, lives, right, holds, planted }: LawOf<S, T>): Law {
  const about = (subject: S) => fc.property(lives, (life) => holds(subject, life));
  return {
    name,
    check: (seed) => fc.assert(about(right), { numRuns: casesOf(RUNS), seed }),
    planted: Object.entries(planted).map(([fault, subject]) => ({
      fault,
      isNoticed: (seed) => {
        const { failed, errorInstance } = fc.check(about(subject), { numRuns: PLANTED_RUNS, seed, endOnFailure: true });
        // A faulty subject that throws has shown nothing of the law.
        return failed && String(errorInstance).includes("returning false");
      },
    })),
  };
}

/** Each law over random lives, and each of its planted faults by the very same property. */
export function testLaws(laws: readonly Law[], seed: number): void {
  describe.each(laws)("law: $name", ({ check, planted }) => {
    it("holds", () => {
      check(seed);
    });

    it.each(planted)("notices $fault", ({ isNoticed }) => {
      expect(isNoticed(seed)).toBe(true);
    });
  });
}
