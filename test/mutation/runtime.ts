/**
 * All mutants of a source are in it at once: each operator is a call of one of these functions with the mutant's id. The active mutant
 * does the replacement, all others the original. `id` is the first of an operator's replacements.
 */
interface Mutation {
  /** The active mutant's id; -1 for none. */
  active: number;
  /** The ids of the reached mutants. */
  readonly reached: Set<number>;
  /** The remaining operator calls. A fault that makes a loop endless uses them up. */
  left: number;
}

export const mutation: Mutation = { active: -1, reached: new Set(), left: Infinity };

export class EndlessError extends Error {}

function isOn(id: number): boolean {
  mutation.reached.add(id);
  mutation.left -= 1;
  if (mutation.left < 0) throw new EndlessError("endless");
  return mutation.active === id;
}

type Value = number;

export function lt(id: number, a: Value, b: Value): boolean {
  if (isOn(id)) return a <= b;
  return isOn(id + 1) ? a >= b : a < b;
}

export function le(id: number, a: Value, b: Value): boolean {
  if (isOn(id)) return a < b;
  return isOn(id + 1) ? a > b : a <= b;
}

export function gt(id: number, a: Value, b: Value): boolean {
  if (isOn(id)) return a >= b;
  return isOn(id + 1) ? a <= b : a > b;
}

export function ge(id: number, a: Value, b: Value): boolean {
  if (isOn(id)) return a > b;
  return isOn(id + 1) ? a < b : a >= b;
}

export function eq(id: number, a: unknown, b: unknown): boolean {
  return isOn(id) ? a !== b : a === b;
}

export function ne(id: number, a: unknown, b: unknown): boolean {
  return isOn(id) ? a === b : a !== b;
}

export function and(id: number, a: () => unknown, b: () => unknown): unknown {
  return isOn(id) ? a() || b() : a() && b();
}

export function or(id: number, a: () => unknown, b: () => unknown): unknown {
  return isOn(id) ? a() && b() : a() || b();
}

export function add(id: number, a: Value, b: Value): Value {
  return isOn(id) ? a - b : a + b;
}

export function sub(id: number, a: Value, b: Value): Value {
  return isOn(id) ? a + b : a - b;
}

export function mul(id: number, a: Value, b: Value): Value {
  return isOn(id) ? a / b : a * b;
}

export function div(id: number, a: Value, b: Value): Value {
  return isOn(id) ? a * b : a / b;
}

export function not(id: number, a: unknown): unknown {
  return isOn(id) ? a : !a;
}

export function yes(id: number): boolean {
  return !isOn(id);
}

export function no(id: number): boolean {
  return isOn(id);
}

export function min(id: number): (...values: number[]) => number {
  return isOn(id) ? Math.max : Math.min;
}

export function max(id: number): (...values: number[]) => number {
  return isOn(id) ? Math.min : Math.max;
}
