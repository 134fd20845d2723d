import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { casesOf } from "../support/seed.ts";

/** A property of every life of a booth, with planted faults that its check must find. */
export interface Law {
  readonly name: string;
  /** Throws with the smallest life that violates it. */
  readonly check: (seed: number) => void;
  readonly planted: readonly { readonly fault: string; readonly isNoticed: (seed: number) => boolean }[];
}

/** `S` is the tested subject (a fold, a set of reports), `T` a life. */
export interface LawOf<S, T> {
  readonly name: string;
  readonly lives: fc.Arbitrary<T>;
  readonly right: S;
  readonly holds: (subject: S, life: T) => boolean;
  /** The subject with one fault each, by description of the fault. */
  readonly planted: Readonly<Record<string, S>>;
}

/** Random lives per law, different in each run. laws.nightly runs more. */
const RUNS = 250;
/** Lives to find a planted fault in. The search stops at the first one. */
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
        // An exception does not prove that the law finds the fault.
        return failed && String(errorInstance).includes("returning false");
      },
    })),
  };
}

/** Tests each law over random lives, and that it finds each planted fault. */
export function testLaws(laws: readonly Law[], seed: number): void {
  describe.each(laws.map((law) => [law.name, law] as const))("law: %s", (_name, { check, planted }) => {
    it("holds for random cases", () => {
      check(seed);
    });

    it.each(planted.map((one) => [one.fault, one] as const))(
      "is violated by this planted fault: %s",
      (_fault, { isNoticed }) => {
        expect(isNoticed(seed)).toBe(true);
      },
    );
  });
}
